"""Watermarks that several processes write: whatever commits a process has read, it knows the newest."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.position import Position
from headwater.ingest.ledger.watermark import (
    NOTHING_KNOWN,
    NumberedWatermark,
    Watermark,
    Watermarks,
    find_watermark,
    format_watermarks,
    merge_watermarks,
    parse_watermarks,
    with_next,
)

NUMBERS = st.integers(0, 6)


def build_watermark(table: str, number: int) -> NumberedWatermark:
    """Only a table's writer numbers its watermarks, so a number names one."""
    commit = f"2026050100000{number:04}"
    position = Position(commit, number)
    return NumberedWatermark(number, Watermark(commit, position, has_unconfirmed=len(table) % 2 == 0))


KNOWN = st.dictionaries(st.sampled_from(["a", "bb", "größe"]), NUMBERS).map(
    lambda numbers: {table: build_watermark(table, number) for table, number in numbers.items()}
)


@given(KNOWN, KNOWN, KNOWN)
def test_merging_depends_on_no_order_and_no_repetition(a: Watermarks, b: Watermarks, c: Watermarks) -> None:
    assert merge_watermarks(a, a) == a
    assert merge_watermarks(a, b) == merge_watermarks(b, a)
    assert merge_watermarks(merge_watermarks(a, b), c) == merge_watermarks(a, merge_watermarks(b, c))


@given(KNOWN)
def test_texts_are_read_back(known: Watermarks) -> None:
    assert parse_watermarks(format_watermarks(known)) == known


@given(KNOWN, KNOWN)
def test_the_next_watermark_is_newer_than_all_read_before(known: Watermarks, stale: Watermarks) -> None:
    known = merge_watermarks(known, stale)
    moved = with_next(known, "a", Watermark("20260601000000000"))
    assert find_watermark(merge_watermarks(stale, moved), "a").commit == "20260601000000000"
    assert merge_watermarks(known, moved) == merge_watermarks(stale, moved)
    forgotten = with_next(moved, "a", NOTHING_KNOWN)
    assert find_watermark(merge_watermarks(moved, forgotten), "a") == NOTHING_KNOWN


def test_watermarks_of_earlier_releases_are_the_oldest() -> None:
    found = parse_watermarks('{"a": ["20260501000000000", "20260501000000000:0", false]}')
    assert found["a"].number == 0
    moved = with_next(found, "a", NOTHING_KNOWN)
    assert find_watermark(merge_watermarks(moved, found), "a") == NOTHING_KNOWN
