"""Starts of tables: whatever commits a process has read, in whatever order, it knows the earliest."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.position import Position
from headwater.ingest.ledger.starts import Starts, format_starts, merge_starts, parse_starts

POSITIONS = st.builds(
    Position, st.integers(0, 6).map(lambda day: f"2026050{day}000000000"), st.integers(0, 2)
)
STARTS = st.dictionaries(st.sampled_from(["a", "bb", "größe"]), POSITIONS)


@given(STARTS, STARTS, STARTS)
def test_merging_depends_on_no_order_and_no_repetition(a: Starts, b: Starts, c: Starts) -> None:
    assert merge_starts(a, a) == a
    assert merge_starts(a, b) == merge_starts(b, a)
    assert merge_starts(merge_starts(a, b), c) == merge_starts(a, merge_starts(b, c))


@given(STARTS, STARTS)
def test_no_start_is_later_than_one_that_was_read(a: Starts, b: Starts) -> None:
    merged = merge_starts(a, b)
    assert merged.keys() == a.keys() | b.keys()
    assert all(merged[table] <= known[table] for known in (a, b) for table in known)


@given(STARTS)
def test_texts_are_read_back(starts: Starts) -> None:
    assert parse_starts(format_starts(starts)) == starts
