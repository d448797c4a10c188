"""Which of Hudi's procedures a shell runs."""

import pytest

from headwater.errors import UsageError
from headwater.lake.shell.procedures import check_procedure, is_reading


@pytest.mark.parametrize("name", ["show_commits", "show_clustering", "help", "stats_wa"])
def test_procedures_that_only_read_are_allowed(name):
    check_procedure(name)
    assert is_reading(name)


@pytest.mark.parametrize("name", ["run_clustering", "run_compaction", "run_clean", "create_savepoint"])
def test_procedures_with_a_lease_are_allowed_and_do_not_count_as_reading(name):
    check_procedure(name)
    assert not is_reading(name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("rollback_to_savepoint", "headwater table NAME restore"),
        ("delete_metadata_table", "metadata_table: false"),
        ("repair_overwrite_hoodie_props", "run_clustering"),
        ("no_such_procedure", "run_clustering"),
    ],
)
def test_others_are_rejected_with_what_to_use_instead(name, hint):
    with pytest.raises(UsageError, match=f"CALL {name} is not allowed") as raised:
        check_procedure(name)
    assert hint in raised.value.hint
