"""A small table with upserts: a row with an existing key replaces the stored row."""

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
    """Table sizes: `buckets` are files per partition; `keep_commits` as in `WriteOptions`.

    `compacts_rarely`: a compaction, which rewrites all files with changes, waits for more commits the larger
    the table is. A read then merges more log files.
    """

    buckets: int = 4
    keep_commits: int = 0
    compacts_rarely: bool = False


@dataclass(frozen=True, slots=True)
class RowKey:
    """The columns that identify a row. Of two rows with one key, the one with the higher `ordering` stays;
    without an ordering, the one written last."""

    fields: tuple[str, ...]
    partition: tuple[str, ...] = ()
    ordering: tuple[str, ...] = ()


_DEFAULT_SIZES = Sizes()
_ATTEMPTS = 5
_COMPACT_AFTER = 20
_MOST_COMMITS = 400
# A table that compacts rarely waits for one commit for each so many bytes.
_BYTES_A_COMMIT = 4 * 1024 * 1024
# As text, rows are several times larger than in Parquet, and two pieces are in flight at once.
_BYTES_A_PIECE = 8 * 1024 * 1024


def choose_compact_after(size: int) -> int:
    """Return after how many commits a table of so many bytes is compacted, if it compacts rarely."""
    return max(_COMPACT_AFTER, min(_MOST_COMMITS, size // _BYTES_A_COMMIT))


class KeyedTable:
    """Upserts rows by key from any thread, one commit per call. Merge-on-read with a bucket index."""

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        name: str,
        schema: StructType,
        key: RowKey,
        sizes: Sizes = _DEFAULT_SIZES,
    ) -> None:
        self._spark = spark
        self._table = Table(spark, path)
        self._schema = schema
        self._key_indexes = [schema.fieldNames().index(name) for name in (*key.partition, *key.fields)]
        self._lock = threading.Lock()
        self._compacts_rarely = sizes.compacts_rarely
        self._writes = 0
        self._options = WriteOptions(
            table_name=name,
            operation="upsert",
            record_key=key.fields,
            partition=key.partition,
            ordering=key.ordering,
            table_type="merge_on_read",
            index="bucket",
            buckets=sizes.buckets,
            compact_after=_COMPACT_AFTER,
            keep_commits=sizes.keep_commits,
        )

    def write_rows(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Upsert rows in schema order; the last row of a key wins. No commit without rows. Raises
        `LakeError`."""
        if rows:
            # Deduplicate here: in Hudi, that is a shuffle, a quarter of the time of a small commit.
            unique = {tuple(row[at] for at in self._key_indexes): row for row in rows}
            frame = build_frame(self._spark, list(unique.values()), self._schema).coalesce(1)
            self.write_frame(frame, unique_keys=True)

    def write_frame(
        self, frame: DataFrame, metadata: Mapping[str, str] | None = None, *, unique_keys: bool = False
    ) -> None:
        """Upsert the rows of a frame, with optional commit metadata. Raises `LakeError`.

        `unique_keys` promises that no two rows have the same key.
        """
        options = replace(self._options, commit_metadata=metadata or {}, unique_keys=unique_keys)
        self._write(frame, options)

    def create(self) -> None:
        """Create the table, with a commit without rows, unless it exists. Raises `LakeError`."""
        if not self.load_timeline().has_commits():
            self.write_frame(build_frame(self._spark, [], self._schema), unique_keys=True)

    def _write(self, frame: DataFrame, options: WriteOptions) -> None:
        # A commit here depends on no state that another writer may have changed, so it can be retried
        # unchanged.
        attempts = Retrying(
            retry=retry_if_exception_type(WriteConflictError),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(multiplier=1, max=10),
            reraise=True,
        )
        with self._lock:
            self._plan_compaction()
            options = replace(options, compact_after=self._options.compact_after)
            attempts(self._table.write, frame, options)

    def _plan_compaction(self) -> None:
        if (
            self._compacts_rarely
            and self._writes % _COMPACT_AFTER == 0
            and self.load_timeline().has_commits()
        ):
            commits = choose_compact_after(self._table.measure_bytes())
            self._options = replace(self._options, compact_after=commits)
        self._writes += 1

    def delete_frame(self, frame: DataFrame, metadata: Mapping[str, str] | None = None) -> None:
        """Delete rows by the keys of `frame`, which has all columns of the schema. Raises `LakeError`."""
        options = replace(self._options, operation="delete", commit_metadata=metadata or {})
        self._write(frame.select(*self._schema.fieldNames()), options)

    def read(self) -> DataFrame | None:
        """Read the latest snapshot; None before the first commit.

        A column of a later release is null until the first write that contains it.
        """
        if not self.load_timeline().has_commits():
            return None
        frame = self._table.read()
        there = set(frame.columns)
        later = {f.name: F.lit(None).cast(f.dataType) for f in self._schema.fields if f.name not in there}
        return frame.withColumns(later) if later else frame

    def count_pieces(self) -> int:
        """Return the number of partitions for collecting the table piece by piece, each of them small.

        Raises `LakeError`.
        """
        return 1 + self._table.measure_bytes() // _BYTES_A_PIECE

    def load_timeline(self) -> Timeline:
        """Load the current timeline."""
        return self._table.load_timeline()
