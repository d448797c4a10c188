"""A small table of rows that may be written again: the same key is the same row."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from headwater.errors import WriteConflictError
from headwater.lake.local_frames import build_frame
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from headwater.lake.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Sizes:
    """`buckets` are the files of one partition; `keep_commits` as in `WriteOptions`."""

    buckets: int = 4
    keep_commits: int = 0


_DEFAULT_SIZES = Sizes()
_ATTEMPTS = 5
# As text it is some times as much, and two pieces are on their way.
_BYTES_A_PIECE = 8 * 1024 * 1024


class KeyedTable:
    """Upserts by key, one commit a call, from any thread. Merge-on-read with a bucket index: quick."""

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        name: str,
        schema: StructType,
        key: tuple[str, ...],
        partition: tuple[str, ...] = (),
        sizes: Sizes = _DEFAULT_SIZES,
    ) -> None:
        self._spark = spark
        self._table = Table(spark, path)
        self._schema = schema
        self._key_places = [schema.fieldNames().index(name) for name in (*partition, *key)]
        self._lock = threading.Lock()
        self._options = WriteOptions(
            table_name=name,
            operation="upsert",
            record_key=key,
            partition=partition,
            table_type="merge_on_read",
            index="bucket",
            buckets=sizes.buckets,
            compact_after=20,
            keep_commits=sizes.keep_commits,
        )

    def write_rows(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Rows in the order of the schema, of one key the last; no commit for none. Raises `LakeError`."""
        if rows:
            # Hudi would look for rows of one key with a shuffle, a quarter of a small commit.
            unique = {tuple(row[at] for at in self._key_places): row for row in rows}
            frame = build_frame(self._spark, list(unique.values()), self._schema).coalesce(1)
            self.write_frame(frame, unique_keys=True)

    def write_frame(
        self, frame: DataFrame, metadata: Mapping[str, str] | None = None, *, unique_keys: bool = False
    ) -> None:
        """Rows of the schema, and what their commit is to carry; `unique_keys` promises that no two rows have
        the same key. Raises `LakeError`.
        """
        options = replace(self._options, commit_metadata=metadata or {}, unique_keys=unique_keys)
        self._write(frame, options)

    def _write(self, frame: DataFrame, options: WriteOptions) -> None:
        # A commit here depends on nothing that another writer may have changed: it is done again as it is.
        attempts = Retrying(
            retry=retry_if_exception_type(WriteConflictError),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(multiplier=1, max=10),
            reraise=True,
        )
        with self._lock:
            attempts(self._table.write, frame, options)

    def delete_frame(self, frame: DataFrame, metadata: Mapping[str, str] | None = None) -> None:
        """The rows with the keys of `frame`, which has all columns of the schema. Raises `LakeError`."""
        options = replace(self._options, operation="delete", commit_metadata=metadata or {})
        self._write(frame.select(*self._schema.fieldNames()), options)

    def read(self) -> DataFrame | None:
        """The newest snapshot; None when nothing was ever written. A column that came with a later release is
        null until the first write that has it."""
        if not self.load_timeline().has_commits():
            return None
        frame = self._table.read()
        there = set(frame.columns)
        later = {f.name: F.lit(None).cast(f.dataType) for f in self._schema.fields if f.name not in there}
        return frame.withColumns(later) if later else frame

    def count_pieces(self) -> int:
        """In how many pieces to take all of it to the driver, none of which is large. Raises `LakeError`."""
        return 1 + self._table.measure_bytes() // _BYTES_A_PIECE

    def load_timeline(self) -> Timeline:
        """The timeline as it is now."""
        return self._table.load_timeline()
