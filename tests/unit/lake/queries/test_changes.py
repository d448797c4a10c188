"""Changed rows that cannot be read are an error, not fewer changes."""

from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import pytest

from headwater.errors import LakeError
from headwater.lake.queries.changes import _read_rows
from headwater.lake.snapshot_reader import Scan, SnapshotReader

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

    def read_scan(self, scan: Scan) -> pa.Table:
        del scan
        return self.rows


def read(rows: pa.Table, wanted: pa.Table) -> list[int]:
    found = _read_rows(cast(SnapshotReader, Reader(rows)), Scan(), wanted)
    return cast("list[int]", found["v"].to_pylist())


def test_wanted_rows_are_read() -> None:
    assert read(ROWS, ROWS.slice(1)) == [2]
    assert read(ROWS, ROWS.slice(2)) == []


def test_rows_that_are_missing_are_an_error() -> None:
    with pytest.raises(LakeError, match="2 rows have changed, but only 1 of them can be read"):
        read(ROWS.slice(1), ROWS)
