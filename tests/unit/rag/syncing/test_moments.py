"""Which commit of the chunks answers as of an instant, and what is refused."""

import random

import pytest

from headwater.errors import AsOfUnavailableError
from headwater.rag.index_state import IndexState
from headwater.rag.syncing.moments import Moment, check_instant, choose_moment, keep_answerable

DAY = "20261121"
NEWEST = f"{DAY}120500000"


def instant(minute: int) -> str:
    return f"{DAY}12{minute:02}00000"


def moment(number: int, minute: int, selection: str = "all") -> Moment:
    return Moment(f"r{number}", IndexState("table", instant(minute), selection, number, 64, "model"))


MOMENTS = [moment(1, 1), moment(2, 2), moment(3, 2), moment(4, 4), moment(5, 5)]


@pytest.mark.parametrize(
    ("asked", "requested", "until"),
    [
        (instant(1), "r1", instant(2)),
        (f"{DAY}120159999", "r1", instant(2)),
        (instant(2), "r3", instant(4)),  # of two as of the same commit, the later
        (instant(3), "r3", instant(4)),
        (instant(4), "r4", instant(5)),
        (instant(5), "r5", NEWEST),
    ],
)
def test_the_newest_moment_that_is_not_behind_answers(asked: str, requested: str, until: str) -> None:
    choice = choose_moment(MOMENTS, asked, NEWEST)
    assert (choice.moment.requested, choice.until) == (requested, until)


def test_every_instant_until_the_next_moment_has_the_same_answer() -> None:
    random_ = random.Random(7)
    for _ in range(500):
        minutes = sorted(random_.choices(range(60), k=random_.randint(1, 8)))
        moments = [moment(number, minute) for number, minute in enumerate(minutes)]
        newest = moments[-1].as_of
        asked = instant(random_.randint(minutes[0], minutes[-1]))
        choice = choose_moment(moments, asked, newest)
        same = [minute for minute in range(60) if choice.moment.as_of <= instant(minute) < choice.until]
        assert all(choose_moment(moments, instant(minute), newest) == choice for minute in same)
        assert choice.moment.as_of <= asked
        assert not [one for one in moments if choice.moment.as_of < one.as_of <= asked]


def test_after_a_restore_answers_follow_the_restored_table() -> None:
    restored = [moment(1, 1), moment(2, 2), moment(3, 3), moment(4, 2), moment(5, 5)]
    for asked in (instant(2), instant(3), instant(4)):
        choice = choose_moment(restored, asked, NEWEST)
        assert choice.moment.requested == "r4"
        assert choice.moment.as_of <= asked < choice.until
    assert choose_moment(restored, instant(1), NEWEST).moment.requested == "r1"


def test_instant_before_the_oldest_is_rejected_with_the_range() -> None:
    with pytest.raises(AsOfUnavailableError, match=f"it covers {instant(1)} to {NEWEST}"):
        choose_moment(MOMENTS, instant(0), NEWEST)
    with pytest.raises(AsOfUnavailableError, match=f"it covers {NEWEST} to {NEWEST}"):
        choose_moment([], instant(0), NEWEST)


@pytest.mark.parametrize(
    "asked",
    ["", "yesterday", "2026-11-21", DAY, f"{NEWEST}0", "20261321120000000", "٢٠٢٦١١٢١١٢٠٥٠٠٠٠٠", "9" * 17],
)
def test_invalid_instant_is_rejected(asked: str) -> None:
    with pytest.raises(AsOfUnavailableError, match="invalid instant") as refused:
        check_instant(asked, NEWEST)
    assert NEWEST in refused.value.message


def test_instant_after_the_newest_is_rejected() -> None:
    check_instant(NEWEST, NEWEST)
    with pytest.raises(AsOfUnavailableError, match=f"its newest commit is {NEWEST}"):
        check_instant(f"{DAY}120500001", NEWEST)


def test_chunks_of_another_choice_of_rows_or_tenants_answer_nothing() -> None:
    mixed = [moment(1, 1), moment(2, 2, "other"), moment(3, 3), moment(4, 4)]
    assert [one.requested for one in keep_answerable(mixed, "all")] == ["r3", "r4"]
    assert keep_answerable(mixed, "other") == []
    assert keep_answerable([], "all") == []
    assert keep_answerable(MOMENTS, "all") == MOMENTS
