"""Which past states can be told: the decisions, on timelines that are hard to come by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InstantUnavailableError
from headwater.lake.queries.history import (
    Cut,
    TableHistory,
    check_change_log,
    find_cut,
    find_past,
    list_cuts,
    plan_steps,
)
from headwater.lake.timeline import Commit


def at(second):
    return f"202601011200{second:02d}000"


def commit(requested, completed):
    return Commit(at(completed), at(requested), "commit")


def build(*commits, **fields):
    return TableHistory("t", tuple(sorted(commit(*pair) for pair in commits)), **fields)


ONE_WRITER = build((1, 2), (3, 4), (5, 6))
# The second commit was requested before the first one completed, and completed first.
TWO_WRITERS = build((1, 2), (3, 8), (5, 6), (9, 10))


def ends(steps):
    return [step.after.completed for step in steps]


@pytest.mark.parametrize(
    ("asked", "requested"),
    [(2, 1), (3, 3), (4, 3), (5, 5), (6, 5), (7, 5), (59, 5)],
)
def test_state_is_of_the_commit_named_or_of_all_completed_by_then(asked, requested):
    assert find_past(ONE_WRITER, at(asked)) == at(requested)


def test_before_the_first_commit_there_is_no_state():
    with pytest.raises(InstantUnavailableError) as refused:
        find_past(ONE_WRITER, at(0))
    assert f"the first commit completed at {at(2)}" in refused.value.hint
    with pytest.raises(InstantUnavailableError):
        find_past(build(), at(1))


def test_state_that_was_cleaned_names_the_earliest_one_left():
    history = build((1, 2), (3, 4), (5, 6), earliest_retained=at(3))
    assert find_past(history, at(4)) == at(3)
    with pytest.raises(InstantUnavailableError, match=rf"the earliest readable instant is {at(4)}"):
        find_past(history, at(2))
    with pytest.raises(InstantUnavailableError):
        plan_steps(history, at(2), "", per_commit=False)
    with pytest.raises(InstantUnavailableError):
        plan_steps(history, "", at(2), per_commit=False)
    # What is there now was all written since the beginning, whatever was cleaned.
    assert ends(plan_steps(history, "", "", per_commit=False)) == [at(6)]
    assert ends(plan_steps(history, "", "", per_commit=True)) == [at(4), at(6)]


def test_cleaned_state_is_represented_by_the_next_retained_one():
    history = build((1, 2), (3, 4), earliest_retained=at(5))
    assert find_past(history, at(4)) == at(5)
    with pytest.raises(InstantUnavailableError, match=rf"the earliest readable instant is {at(4)}"):
        find_past(history, at(2))
    (step,) = plan_steps(history, "", "", per_commit=True)
    assert (step.after, step.snapshots) == (Cut(at(4), at(3)), ("", at(5)))
    # A later commit is not in the state that it shows.
    assert find_past(build((1, 2), (3, 4), (6, 7), earliest_retained=at(5)), at(4)) == at(5)
    with pytest.raises(InstantUnavailableError):
        find_past(build((1, 2), (3, 4), (6, 7), earliest_retained=at(6)), at(4))


def test_overlapping_writers_share_one_step():
    assert [cut.completed for cut in list_cuts(TWO_WRITERS)] == [at(2), at(8), at(10)]
    steps = plan_steps(TWO_WRITERS, at(2), "", per_commit=True)
    assert [(step.after, len(step.commits)) for step in steps] == [
        (Cut(at(8), at(5)), 2),
        (Cut(at(10), at(9)), 1),
    ]


def test_state_amidst_two_writers_is_refused_with_the_one_before():
    for ask in (find_past, find_cut):
        with pytest.raises(InstantUnavailableError) as refused:
            ask(TWO_WRITERS, at(7))
        assert at(2) in refused.value.hint
    # Who names a commit asks for the order of requests, as Hudi keeps it.
    assert find_past(TWO_WRITERS, at(5)) == at(5)


def test_commit_that_a_pending_one_may_join_is_left_for_later():
    history = build((1, 2), (5, 6), pending=(at(3),))
    assert ends(plan_steps(history, "", "", per_commit=True)) == [at(2)]
    assert plan_steps(history, at(2), "", per_commit=True) == []
    joined = build((1, 2), (5, 6), (3, 7))
    assert ends(plan_steps(joined, at(2), "", per_commit=True)) == [at(7)]
    # It may have completed at 4 and not be shown yet.
    between = build((1, 2), (3, 6), pending=(at(4),))
    assert ends(plan_steps(between, "", "", per_commit=True)) == [at(2)]
    later = build((1, 2), (5, 6), pending=(at(8),))
    assert ends(plan_steps(later, at(2), "", per_commit=True)) == [at(6)]


def test_window_ends_with_until():
    assert ends(plan_steps(ONE_WRITER, at(2), at(5), per_commit=False)) == [at(4)]
    assert plan_steps(ONE_WRITER, at(6), "", per_commit=False) == []
    (step,) = plan_steps(ONE_WRITER, at(2), "", per_commit=False)
    assert step.commits == (commit(3, 4), commit(5, 6))


def test_restored_away_commits_are_rejected():
    # The commit that was requested at 5 is gone from the timeline.
    history = build((1, 2), (9, 10), restores=((at(8), at(5)),))
    for asked in (5, 6, 7):
        for ask in (find_past, find_cut):
            with pytest.raises(InstantUnavailableError, match="a restore at"):
                ask(history, at(asked))
        with pytest.raises(InstantUnavailableError, match="a restore at"):
            plan_steps(history, at(asked), "", per_commit=False)
    for asked in (2, 4, 8):
        assert find_past(history, at(asked)) == at(1)
        assert ends(plan_steps(history, at(asked), "", per_commit=False)) == [at(10)]
    assert ends(plan_steps(history, at(10), "", per_commit=False)) == []


def test_change_log_is_rejected_beyond_active_and_uncleaned_commits():
    archived = build((1, 2), (3, 4), (5, 6), newest_archived=at(2))
    assert check_change_log(archived, at(2)).requested == at(1)
    with pytest.raises(InstantUnavailableError, match="the change log reaches back only to"):
        check_change_log(archived, "")
    cleaned = build((1, 2), (3, 4), (5, 6), earliest_retained=at(3))
    assert check_change_log(cleaned, at(4)).requested == at(3)
    for since in ("", at(2)):
        with pytest.raises(InstantUnavailableError):
            check_change_log(cleaned, since)
    assert check_change_log(ONE_WRITER, "") == Cut()


@st.composite
def timelines(draw):
    """Commits of any overlap, of which a prefix by completion has happened and the rest is pending."""
    moments = draw(st.permutations(range(1, 13)))
    pairs = [tuple(sorted(pair)) for pair in zip(moments[::2], moments[1::2], strict=True)]
    now = draw(st.integers(0, 13))
    done = [pair for pair in pairs if pair[1] <= now]
    begun = [at(first) for first, last in pairs if first <= now < last]
    return pairs, build(*done, pending=tuple(begun))


@given(timelines())
def test_resuming_from_each_offset_returns_every_commit_once(timeline):
    pairs, first = timeline
    position, reported = "", []
    for history in (first, build(*pairs)):
        for step in plan_steps(history, position, "", per_commit=True):
            reported += [name.requested for name in step.commits]
            position = step.after.completed
            # A later reader, who sees more, sees the same commits up to here.
            seen = {at(a) for a, _ in pairs if at(a) <= step.after.requested}
            assert set(reported) == seen
    assert sorted(reported) == sorted(at(a) for a, _ in pairs)
