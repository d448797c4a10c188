"""Whether Spark has left out a line of an object shows in the sizes of the others."""

import pytest

from headwater.ingest.reading.split_scan import has_gap

LIMIT = 1_000


@pytest.mark.parametrize(
    ("rest", "rows", "end"),
    [
        (0, 0, 1),
        (100, 100, 1),
        (99, 100, 1),
        (103, 100, 1),
        (200, 100, 1),
        (150, 100, 1),
        (1_000_000, 1_000_000, 1),
        (2_000_003, 1_000_000, 1),
        (1_999_998, 1_000_000, 1),
        (3_000_000, 1_000_000, 3),
    ],
)
def test_ends_of_rows_are_no_gap(rest: int, rows: int, end: int) -> None:
    assert not has_gap(rest, rows, end, LIMIT)


@pytest.mark.parametrize(
    ("rest", "rows", "end"),
    [(1_001, 0, 1), (100 + 1_002, 100, 1), (200 + 1_003, 100, 1), (1_000_000 + 1_002, 1_000_000, 1)],
)
def test_a_line_that_is_too_long_is_a_gap(rest: int, rows: int, end: int) -> None:
    assert has_gap(rest, rows, end, LIMIT)
