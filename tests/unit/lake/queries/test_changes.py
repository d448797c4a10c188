"""Only changed file groups are read, and rows that cannot be read are an error, not fewer changes."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from hudi import HudiFileSlice

from headwater.errors import LakeError
from headwater.lake.layout import TableAddress
from headwater.lake.queries.change_feed import ChangeFeed
from headwater.lake.queries.changes import Part, _read_rows
from headwater.lake.queries.query import Query
from headwater.lake.snapshot_reader import Scan, SnapshotReader
from tests.fixtures.lakes import FIXTURE_LAKE

ROWS = pa.table(
    {
        "_hoodie_partition_path": ["p", "p"],
        "_hoodie_record_key": ["a", "b"],
        "_hoodie_commit_seqno": ["1", "2"],
        "v": [1, 2],
    }
)


@dataclass
class Reader:
    """One snapshot."""

    rows: pa.Table
    path: str = "/lake/orders"

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def read_slices(self, slices: Sequence[HudiFileSlice], scan: Scan, columns: None) -> pa.Table:
        del slices, scan, columns
        return self.rows


def read(rows: pa.Table, wanted: pa.Table) -> list[int]:
    found = _read_rows(Part(cast(SnapshotReader, Reader(rows)), "", ()), "", wanted)
    return cast("list[int]", found["v"].to_pylist())


def test_wanted_rows_are_read() -> None:
    assert read(ROWS, ROWS.slice(1)) == [2]
    assert read(ROWS, ROWS.slice(2)) == []


def test_rows_that_are_missing_are_an_error() -> None:
    with pytest.raises(LakeError, match="2 rows have changed, but only 1 of them can be read"):
        read(ROWS.slice(1), ROWS)


@pytest.mark.parametrize("table", ["orders_cow", "orders_mor"])
def test_changes_are_read_from_changed_file_groups_only(table: str, tmp_path: Path) -> None:
    path = tmp_path / table
    shutil.copytree(FIXTURE_LAKE / table, path)
    # The last commit changed one of two partitions: with nothing left of the other, its changes are the same.
    last = SnapshotReader(str(path)).commit_names[-2:]
    address = TableAddress(table, str(path))
    (expected,) = ChangeFeed(address, Query.changes(last[0].completed), per_commit=False).poll()
    for file in (path / "region=us").iterdir():
        if not file.name.startswith("."):
            file.write_bytes(b"")
    (found,) = ChangeFeed(address, Query.changes(last[0].completed), per_commit=False).poll()
    assert len(found) > 0
    assert list(found) == list(expected)
