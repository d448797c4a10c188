"""What a follower of a table looks at."""

from dataclasses import dataclass

import pytest

from headwater.lake.queries.change_plan import ChangePlan, plan_changes


@dataclass(frozen=True)
class Commit:
    completed: str
    action: str = "commit"


def plan(*commits: Commit, as_of: str, same: bool = True, deletes: int = 0, archived: str = "") -> ChangePlan:
    return plan_changes(
        commits,
        as_of,
        is_same_selection=same,
        count_deletes=lambda *_: deletes,
        has_archived=lambda after: archived > after,
    )


def test_only_newer_commits_are_read() -> None:
    found = plan(Commit("1"), Commit("2"), Commit("3"), as_of="1")
    assert (found.kind, found.after, found.upto, found.has_deletes) == ("changes", "1", "3", False)
    assert plan(Commit("1"), Commit("2"), as_of="1", deletes=1).has_deletes


def test_an_archived_commit_that_completed_later_is_not_left_out() -> None:
    commits = Commit("4"), Commit("5")
    assert plan(*commits, as_of="4", archived="3").kind == "changes"
    found = plan(*commits, as_of="4", archived="5")
    assert (found.kind, "has been archived" in found.reason) == ("all", True)


@pytest.mark.parametrize("commits", [(), (Commit("1"),), (Commit("1"), Commit("2"))])
def test_nothing_new_is_nothing_to_do(commits: tuple[Commit, ...]) -> None:
    assert plan(*commits, as_of="2" if len(commits) == 2 else "1").kind == "nothing"


@pytest.mark.parametrize(
    ("commits", "as_of", "same", "reason"),
    [
        ([Commit("5")], "", True, "none of it has been processed"),
        ([Commit("5")], "5", False, "has changed"),
        ([Commit("5"), Commit("6")], "4", True, "no longer on the timeline"),
        ([Commit("3")], "4", True, "older"),
        ([Commit("3"), Commit("5")], "4", True, "no longer on the timeline"),
        ([Commit("4"), Commit("5", "replacecommit")], "4", True, "replaced"),
    ],
)
def test_every_row_is_read_when_changes_are_unknown(
    commits: list[Commit], as_of: str, same: bool, reason: str
) -> None:
    found = plan(*commits, as_of=as_of, same=same)
    assert (found.kind, found.has_deletes) == ("all", True)
    assert reason in found.reason
