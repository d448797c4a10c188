"""A copy is complete only if cleans took nothing from it that its state needs."""

import pytest

from headwater.lake.table_copy.cleans import Clean, Verdict, build_clean, judge_copy, list_new_cleans
from headwater.lake.timeline.instants import Instant, State

NEWEST = "50"
COPIED = {"a", "b", "c"}


def clean(*deletes: str, earliest: str = "40", completed: str = "61") -> Clean:
    state: State = "completed" if completed else "inflight"
    return Clean(Instant("60", "clean", completed, state), frozenset(deletes), earliest)


def test_a_clean_of_files_that_were_copied_before_does_not_matter():
    for one in (clean("a"), clean("b", completed=""), clean("c", earliest="")):
        assert judge_copy(NEWEST, COPIED, [], [one]) == Verdict()


def test_a_clean_that_took_files_of_older_states_only_becomes_part_of_the_copy():
    one, other = clean("a", "old"), clean("b")
    assert judge_copy(NEWEST, COPIED, ["old"], [one, other]) == Verdict("", (one,))
    # Deleted before the folder was listed, so that nobody missed it.
    assert judge_copy(NEWEST, COPIED, [], [one]) == Verdict("", (one,))


@pytest.mark.parametrize(
    ("absent", "cleans", "problem"),
    [
        (["gone"], [], "gone was deleted while the table was copied"),
        (["gone"], [clean("old")], "gone was deleted while the table was copied"),
        ([], [clean("old", completed="")], "clean 60 is deleting files"),
        (["old"], [clean("old", earliest="55")], "clean 60 deleted files of commit 50"),
        # By file versions: which states are complete is not known.
        (["old"], [clean("old", earliest="")], "clean 60 deleted files of commit 50"),
    ],
)
def test_any_other_loss_makes_the_copy_incomplete(absent, cleans, problem):
    assert judge_copy(NEWEST, COPIED, absent, cleans).problem == problem


def test_a_plan_names_files_of_the_copied_state_only():
    plan = {
        "earliestInstantToRetain": {"timestamp": "40"},
        "filePathsToBeDeletedPerPartition": {
            "eu": [
                {"filePath": "file:/lake/t/eu/mine.parquet"},
                {"filePath": "file:/lake/t/eu/later.parquet"},
            ]
        },
    }
    instant = Instant("60", "clean", state="requested")
    built = build_clean(instant, plan, lambda name: name != "later.parquet")
    assert built == Clean(instant, frozenset({"mine.parquet"}), "40")
    assert not built.is_completed


def test_cleans_of_the_copy_itself_are_not_new():
    known, new = Instant("10", "clean", "11"), Instant("60", "clean", state="requested")
    assert list_new_cleans([known, Instant("20", "commit", "21"), new], [known]) == [new]
