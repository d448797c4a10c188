"""The limit follows the batch, within bounds."""

import pytest

from headwater.ingest.planning.file_sizes import LEAST_BYTES, MOST_BYTES, choose_small_file_limit

MEGABYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("batch", "limit"),
    [
        (0, LEAST_BYTES),
        (1_000, LEAST_BYTES),
        (MEGABYTE, 16 * MEGABYTE),
        (50 * MEGABYTE, MOST_BYTES),
    ],
)
def test_a_commit_rewrites_little_more_than_it_writes(batch: int, limit: int) -> None:
    assert choose_small_file_limit(batch) == limit
