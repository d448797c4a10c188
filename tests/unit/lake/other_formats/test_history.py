"""What a follower reads of a table with versions."""

import pytest

from headwater.lake.other_formats.history import History, list_after, plan_versions

HISTORY = History("table", ("3", "4", "5"))


@pytest.mark.parametrize(
    ("as_of", "is_same", "kind", "reason"),
    [
        ("", True, "all", "none of it has been processed yet"),
        ("4@table", True, "changes", ""),
        ("5@table", True, "nothing", ""),
        ("5@table", False, "all", "the selection of its rows or columns has changed"),
        ("2@table", True, "all", "its history no longer contains version 2"),
        # Restored to an older state, or the newest metadata file was never committed.
        ("6@table", True, "all", "its history no longer contains version 6"),
        ("4@another", True, "all", "another table exists at its address now"),
    ],
)
def test_changes_are_read_if_the_history_contains_the_checkpoint(
    as_of: str, is_same: bool, kind: str, reason: str
) -> None:
    plan = plan_versions(HISTORY, as_of, is_same_selection=is_same)
    assert plan is not None
    assert (plan.kind, plan.upto, plan.reason) == (kind, "5@table", reason)


def test_a_table_without_commits_is_waited_for() -> None:
    assert plan_versions(History("table", ()), "", is_same_selection=True) is None


def test_a_version_of_another_table_is_unknown() -> None:
    assert HISTORY.find_version("4@table") == "4"
    assert HISTORY.find_version("4@another") is None
    assert HISTORY.find_version("9@table") is None


def test_versions_after_an_unknown_one_are_all() -> None:
    assert list_after(("3", "4", "5"), "4") == ("5",)
    assert list_after(("3", "4", "5"), "5") == ()
    assert list_after(("3", "4", "5"), "1") == ("3", "4", "5")
