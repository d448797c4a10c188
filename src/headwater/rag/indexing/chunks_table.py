"""The chunks table: one partition per fingerprint, one row per chunk. Deleted chunks remain as tombstones
for `KEEP_DELETED`."""

from dataclasses import replace
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.lake.erasure.subjects import SubjectHasher
from headwater.lake.keyed_table import KeyedTable, RowKey, Sizes
from headwater.lake.queries.instants import format_instant
from headwater.observability.crash_points import crash_point
from headwater.rag.index_state import IndexState, metadata_key, parse_index_state
from headwater.rag.indexing.erasing import match_sources

CHUNKS_SCHEMA = StructType(
    [
        StructField("fingerprint", StringType()),
        StructField("chunk_id", StringType()),
        StructField("row_key", StringType()),
        StructField("chunk_number", IntegerType()),
        StructField("text", StringType()),
        StructField("content_hash", StringType()),
        StructField("terms_hash", StringType()),
        StructField("fields", StringType()),
        StructField("fields_hash", StringType()),
        StructField("tenant", StringType()),
        StructField("model", StringType()),
        StructField("dimensions", IntegerType()),
        StructField("vector", ArrayType(FloatType())),
        StructField("source_key", StringType()),
        StructField("instant", StringType()),
        StructField("content_revision", LongType()),
        StructField("deleted", BooleanType()),
        StructField("changed_at", TimestampType()),
    ]
)

KEEP_DELETED = timedelta(days=7)
"""How long tombstones of deleted chunks are kept; readers that are further behind compare everything."""

# A commit may complete this long after its rows were stamped.
_MARGIN = timedelta(hours=1)
_BUCKETS = 8


class ChunksTable:
    """The chunks of one fingerprint. One writer at a time. Raises `LakeError`.

    The last `keep_commits` commits, over all fingerprints, remain readable.
    """

    def __init__(self, spark: SparkSession, path: str, fingerprint: str, keep_commits: int = 10) -> None:
        self._spark = spark
        self._fingerprint = fingerprint
        self._table = KeyedTable(
            spark,
            path,
            "chunks",
            CHUNKS_SCHEMA,
            RowKey(("chunk_id",), ("fingerprint",)),
            Sizes(_BUCKETS, keep_commits),
        )

    def load_state(self) -> IndexState | None:
        """Return the state in the newest commit of this fingerprint; None when there is none."""
        timeline = self._table.load_timeline()
        found = timeline.find_metadata(metadata_key(self._fingerprint)) if timeline.exists() else None
        return parse_index_state(found, self._fingerprint)

    def read(self) -> DataFrame:
        """Return all chunks of this fingerprint, including deleted ones; empty before the first write."""
        found = self._table.read()
        if found is None:
            return self._spark.createDataFrame([], CHUNKS_SCHEMA)
        return found.where(F.col("fingerprint") == self._fingerprint).select(*CHUNKS_SCHEMA.fieldNames())

    def write(self, rows: DataFrame, state: IndexState, *, unique_ids: bool = False) -> None:
        """Write rows and state in one commit. `unique_ids` promises that no two rows are the same chunk."""
        crash_point("before_chunks_commit")
        self._table.write_frame(
            rows.select(*CHUNKS_SCHEMA.fieldNames()),
            state.to_metadata(self._fingerprint),
            unique_keys=unique_ids,
        )
        crash_point("after_chunks_commit")

    def erase(self, sources: SubjectHasher, hashes: frozenset[str], now: datetime) -> int:
        """Remove all chunks of these source rows, of every fingerprint; return their number.

        A reader that has not removed them yet compares everything.
        """
        found = self._table.read()
        if found is None or not hashes:
            return 0
        chunks = found.where(match_sources(found, sources, hashes))
        if count := chunks.count():
            state = self.load_state()
            purged = replace(state, purged=max(format_instant(now), state.purged)) if state else None
            self._table.delete_frame(chunks, purged.to_metadata(self._fingerprint) if purged else None)
        return count

    def purge(self, now: datetime, keep: timedelta = KEEP_DELETED) -> int:
        """Remove chunks deleted longer ago than `keep`; return their number."""
        state = self.load_state()
        if state is None:
            return 0
        cutoff = now - keep
        old = self.read().where(F.col("deleted") & (F.col("changed_at") < F.lit(cutoff - _MARGIN)))
        count = old.count()
        if count:
            purged = format_instant(cutoff)
            state = replace(state, purged=max(purged, state.purged))
            self._table.delete_frame(old, state.to_metadata(self._fingerprint))
        return count
