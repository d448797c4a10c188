"""The text of a sequence: texts compare like the values."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.ingest.formats.envelopes.sequence import SequenceError, join_sequence
from headwater.ingest.formats.json_values import NumberText

WHOLE = st.integers(-(10**36), 10**37)
NUMBERS = st.one_of(
    WHOLE,
    st.decimals(-(10**20), 10**20, places=9),
    st.floats(-1e15, 1e15).map(lambda value: round(value, 3)),
)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
TEXTS = st.text(st.characters(min_codepoint=ord("\t") + 1, exclude_categories=["Cs"]), max_size=8)


def is_lower(left: Any, right: Any) -> bool:
    """By value; null is lowest."""
    return (
        left is None
        if right is not None and left is None
        else (left is not None and right is not None and left < right)
    )


def encode(value: object) -> str:
    # Beside a part that is never null, so that null has a text, too.
    return join_sequence([value, 0])


@pytest.mark.parametrize(
    "values", [NUMBERS, TIMES, st.dates(), TEXTS], ids=["numbers", "times", "dates", "texts"]
)
def test_texts_compare_like_values(values: st.SearchStrategy[Any]) -> None:
    @given(st.none() | values, st.none() | values)
    def check(left: Any, right: Any) -> None:
        exact = [Decimal(str(v)) if isinstance(v, float) else v for v in (left, right)]
        # Code points, as Spark and Hudi compare texts.
        assert (encode(left).encode() < encode(right).encode()) == is_lower(*exact)
        assert (encode(left) == encode(right)) == (exact[0] == exact[1])

    check()


@given(st.lists(st.tuples(WHOLE, TEXTS, st.none() | WHOLE), min_size=2, max_size=2))
def test_the_first_difference_decides(pair: list[tuple[int, str, int | None]]) -> None:
    left, right = pair
    lowest = -(10**40)
    keys = [(a, b.encode(), lowest if c is None else c) for a, b, c in (left, right)]
    assert (join_sequence(left).encode() < join_sequence(right).encode()) == (keys[0] < keys[1])


@given(WHOLE)
def test_a_number_as_written_is_that_number(number: int) -> None:
    assert join_sequence([NumberText(number)]) == join_sequence([number])


@pytest.mark.parametrize(
    "value",
    [True, [1], {"a": 1}, "a\tb", "\0", NumberText("NaN"), NumberText("Infinity"), 10**38, float("nan")],
    ids=["flag", "list", "object", "tab", "zero", "nan", "infinity", "digits", "float-nan"],
)
def test_what_has_no_order(value: object) -> None:
    with pytest.raises(SequenceError):
        join_sequence([value])


def test_nothing_is_empty() -> None:
    assert join_sequence([None, None]) == ""
    assert join_sequence([]) == ""


def test_times_are_instants() -> None:
    berlin = timezone(timedelta(hours=2))
    assert join_sequence([datetime(2026, 5, 1, 12, tzinfo=berlin)]) == join_sequence(
        [datetime(2026, 5, 1, 10)]
    )
    assert join_sequence([date(1970, 1, 2)]) == join_sequence([1])
