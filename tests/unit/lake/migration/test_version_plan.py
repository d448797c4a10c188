import pytest

from headwater.errors import UsageError
from headwater.lake.migration.versions import plan_versions
from headwater.lake.properties import TableProperties


def table(version, table_type="COPY_ON_WRITE"):
    return TableProperties({"hoodie.table.version": str(version), "hoodie.table.type": table_type})


def test_an_upgrade_goes_step_by_step_to_the_newest_version():
    plan = plan_versions("t", table(6), "upgrade", None)
    assert [(step.before, step.after) for step in plan.steps] == [(6, 7), (7, 8), (8, 9)]
    assert all(step.changes for step in plan.steps)


def test_downgrade_defaults_to_the_previous_version():
    assert plan_versions("t", table(9), "downgrade", None).after == 8
    steps = plan_versions("t", table(9), "downgrade", 6).steps
    assert [(step.before, step.after) for step in steps] == [(9, 8), (8, 7), (7, 6)]


@pytest.mark.parametrize("direction", ["upgrade", "downgrade"])
def test_nothing_is_to_be_done_for_a_table_that_has_the_version(direction):
    plan = plan_versions("t", table(9 if direction == "upgrade" else 6), direction, None)
    assert plan.steps == ()
    assert plan.first == ()


def test_log_files_are_compacted_when_the_timeline_path_changes():
    compacts = [
        any("compacted" in text for text in plan_versions("t", table(before, kind), "upgrade", to).first)
        for before, kind, to in (
            (6, "MERGE_ON_READ", 9),
            (6, "COPY_ON_WRITE", 9),
            (8, "MERGE_ON_READ", 9),
            (6, "MERGE_ON_READ", 7),
        )
    ]
    assert compacts == [True, False, False, False]


@pytest.mark.parametrize(
    ("direction", "to", "expected_message"),
    [
        ("upgrade", 10, "writes tables of version 6 to 9"),
        ("downgrade", 5, "writes tables of version 6 to 9"),
        ("upgrade", 6, "has version 8, and `upgrade` cannot change it to version 6"),
        ("downgrade", 9, "has version 8, and `downgrade` cannot change it to version 9"),
    ],
)
def test_a_version_out_of_reach_is_refused(direction, to, expected_message):
    with pytest.raises(UsageError, match=expected_message):
        plan_versions("t", table(8), direction, to)
