import pytest

from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.lake.migration.bootstrap_plan import (
    BootstrapRequest,
    check_config,
    check_source,
    list_partitions,
)

GOOD = {"path": "*.json", "record_key": "id", "ordering": "at", "partition": "day"}
FOLDERS = ["day=1", "day=1", "day=2"]
COLUMNS = ["id", "at", "day"]


def config(**changes):
    return TableConfig.model_validate({**GOOD, **changes})


def test_partitions_that_match_get_the_mode_and_others_the_other():
    found = list_partitions(FOLDERS, BootstrapRequest("s", "full_record", "day=1"))
    assert [(one.path, one.files, one.mode) for one in found] == [
        ("day=1", 2, "full_record"),
        ("day=2", 1, "metadata_only"),
    ]


@pytest.mark.parametrize(("regex", "expected_message"), [("day", "matches no partition"), ("(", "--regex")])
def test_a_pattern_without_effect_is_refused(regex, expected_message):
    with pytest.raises(UsageError, match=expected_message):
        list_partitions(FOLDERS, BootstrapRequest("s", regex=regex))


@pytest.mark.parametrize(
    ("changes", "expected_message"),
    [
        ({"mode": "mirror", "record_key": [], "ordering": []}, "mode: mirror"),
        ({"ordering": []}, "`ordering` is missing"),
        ({"ordering": [], "partition": [], "changes": {"preset": "dms"}}, "`changes` is set"),
        ({"index": {"type": "bucket", "buckets": 4}}, "`index: bucket`"),
        ({"cdc": "op_key_only"}, "`cdc: op_key_only`"),
        ({"drop_partition_columns": True}, "`drop_partition_columns`"),
    ],
)
def test_a_table_that_cannot_be_made_of_files_is_refused(changes, expected_message):
    with pytest.raises(UsageError, match=expected_message):
        check_config("t", config(**changes))
    check_config("t", config())


@pytest.mark.parametrize(
    ("columns", "folders", "changes", "expected_message"),
    [
        (["at", "day"], FOLDERS, {}, r"no column id \(`record_key`\)"),
        (["id", "day"], FOLDERS, {}, r"no column at \(`ordering`\)"),
        ([*COLUMNS, "_hoodie_commit_time"], FOLDERS, {}, "already a Hudi table"),
        (COLUMNS, [""], {}, "files are stored in the folder itself, not in day=..."),
        (COLUMNS, ["month=1"], {}, "files are stored in month=1, not in day=..."),
        (COLUMNS, ["day=1"], {"partition": []}, "files are stored in day=1, not in the folder itself"),
        (COLUMNS, ["1/2"], {"partition_style": "plain"}, "files are stored in 1/2, not in ..."),
    ],
)
def test_files_of_another_table_are_refused(columns, folders, changes, expected_message):
    with pytest.raises(UsageError, match=expected_message):
        check_source(config(**changes), "s", columns, list_partitions(folders, BootstrapRequest("s")))
