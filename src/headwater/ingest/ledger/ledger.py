"""The ledger: one row per object and data table, with the object's state in the table.

It is written periodically, outside the row path, and can be rebuilt from commits. Each commit of a data table
carries the outcomes it decided (`outcome_log`).
"""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.capture.position import Position
from headwater.ingest.ledger.starts import STARTS_KEY, Starts, format_starts, merge_starts, parse_starts
from headwater.ingest.ledger.state_text import LETTERS, NAMES, TIMES, parse_state
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
from headwater.ingest.planning.ledger_entry import (
    ABSENT,
    CLEANED_REASONS,
    LedgerEntry,
    find_observation,
)
from headwater.lake.keyed_table import KeyedTable, RowKey, Sizes
from headwater.lake.local_frames import build_frame, load_arrow
from headwater.observability.crash_points import crash_point

LEDGER_SCHEMA = StructType(
    [
        StructField("table", StringType(), nullable=False),
        StructField("object_id", StringType(), nullable=False),
        StructField("provider", StringType()),
        StructField("bucket", StringType()),
        StructField("key", StringType()),
        StructField("version", StringType()),
        StructField("etag", StringType()),
        StructField("order_key", StringType()),
        StructField("event_time", TimestampType()),
        StructField("event_id", StringType()),
        StructField("status", StringType()),
        StructField("reason", StringType()),
        StructField("detail", StringType()),
        StructField("rows", LongType()),
        StructField("bad_rows", LongType()),
        StructField("bytes", LongType()),
        StructField("events", LongType()),
        StructField("looked", BooleanType()),
        StructField("instant", StringType()),
        StructField("first_seen", TimestampType()),
        StructField("looked_at", TimestampType()),
    ]
)
"""Partitioned by `table`. `instant` is the commit of the data table in which the object was last decided."""

_SEEN_SCHEMA = StructType(
    [
        *(LEDGER_SCHEMA[name] for name in ("object_id", "bucket", "key")),
        StructField("after", TimestampType()),
        StructField("etag", StringType()),
        StructField("read_after", TimestampType()),
    ]
)
_ARROW_SCHEMA = to_arrow_schema(LEDGER_SCHEMA)
_WATERMARKS_KEY = "marks"
# Spark evaluates a filter of many ids for every row; more than this are joined instead.
_FILTER_LIMIT = 200


@dataclass(slots=True)
class _Write:
    """What one data table's thread wants to be committed."""

    table: str
    rows: pa.Table
    watermark: Watermark
    is_done: bool = False
    error: Exception | None = None


class Ledger:
    """One table for all data tables, written from any thread; each data table has one process that writes.

    What threads want to write while a commit is running goes into the next one together: however many tables
    there are, each waits for two commits at most.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        sizes = Sizes(compacts_rarely=True)
        self._table = KeyedTable(
            spark, path, "ledger", LEDGER_SCHEMA, RowKey(("object_id",), ("table",)), sizes
        )
        self._lock = threading.Lock()
        self._waiting: list[_Write] = []
        self._waiting_lock = threading.Lock()
        self._watermarks: dict[str, NumberedWatermark] = {}
        self._starts: Starts = {}
        self._read_until = ""

    def create(self) -> None:
        """Create the table unless it exists. Raises `LakeError`."""
        self._table.create()

    def find_watermark(self, table: str) -> Watermark:
        """Return the ledger's watermark for the table."""
        with self._lock:
            return find_watermark(self._load_watermarks(), table)

    def find_start(self, table: str) -> Position | None:
        """Return the recorded start of a table; None if there is none."""
        with self._lock:
            self._load_watermarks()
            return self._starts.get(table)

    def settle_starts(
        self, tables: Collection[str], find_latest: Callable[[], Position]
    ) -> Mapping[str, Position]:
        """Return the starts of the tables. Those without one get the offset of `find_latest`, which is
        committed before it is returned. Raises `LakeError`.
        """
        with self._lock:
            if not self._starts.keys() >= set(tables):
                self._load_watermarks()
            if new := set(tables) - self._starts.keys():
                latest = find_latest()
                crash_point("before_ledger_commit")
                starts = merge_starts(self._starts, dict.fromkeys(new, latest))
                metadata = self._build_metadata(self._watermarks, starts)
                self._table.write_frame(
                    build_frame(self._spark, [], LEDGER_SCHEMA), metadata, unique_keys=True
                )
                self._load_watermarks()
            return {table: self._starts[table] for table in tables}

    def write(self, table: str, states: Collection[LedgerEntry], watermark: Watermark) -> None:
        """Commit the states, one per object, and the new watermark. Raises `LakeError`."""
        rows = pa.table(
            [_build_column(field, table, states) for field in _ARROW_SCHEMA], schema=_ARROW_SCHEMA
        )
        own = _Write(table, rows, watermark)
        with self._waiting_lock:
            self._waiting.append(own)
        with self._lock:
            # Unless another thread has written it in the meantime.
            if not own.is_done:
                self._write_waiting()
        if own.error is not None:
            raise own.error

    def _write_waiting(self) -> None:
        with self._waiting_lock:
            writes, self._waiting = self._waiting, []
        error: Exception | None = None
        try:
            rows = pa.concat_tables(write.rows for write in writes)
            frame = load_arrow(self._spark, rows, LEDGER_SCHEMA).coalesce(1)
            self._commit(frame, {write.table: write.watermark for write in writes}, unique_objects=True)
        except Exception as caught:  # every thread that waits has to hear of it
            error = caught
        for write in writes:
            write.is_done, write.error = True, error

    def write_frame(self, table: str, frame: DataFrame, watermark: Watermark) -> None:
        """Commit rows of `LEDGER_SCHEMA`, all of that table. Raises `LakeError`."""
        with self._lock:
            self._commit(frame, {table: watermark}, unique_objects=False)

    def _commit(self, frame: DataFrame, new: Mapping[str, Watermark], *, unique_objects: bool) -> None:
        crash_point("before_ledger_commit")
        watermarks = self._load_watermarks()
        for table, watermark in new.items():
            watermarks = with_next(watermarks, table, watermark)
        metadata = self._build_metadata(watermarks, self._starts)
        self._table.write_frame(frame, metadata, unique_keys=unique_objects)
        self._watermarks = watermarks

    @staticmethod
    def _build_metadata(watermarks: Watermarks, starts: Starts) -> dict[str, str]:
        metadata = {_WATERMARKS_KEY: format_watermarks(watermarks)}
        return metadata | ({STARTS_KEY: format_starts(starts)} if starts else {})

    def forget(self, table: str) -> None:
        """Remove all entries of a table in one commit. Raises `LakeError`."""
        frame = self.read(table)
        with self._lock:
            watermarks = with_next(self._load_watermarks(), table, NOTHING_KNOWN)
            if frame is not None:
                self._table.delete_frame(frame, self._build_metadata(watermarks, self._starts))
            self._watermarks = watermarks

    def read_states(self, table: str, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the known states of these objects, by object id."""
        frame = self.read(table) if object_ids else None
        if frame is None:
            return {}
        if len(object_ids) <= _FILTER_LIMIT:
            found = frame.where(F.col("object_id").isin(list(object_ids)))
        else:
            wanted = self._spark.createDataFrame(pd.DataFrame({"object_id": list(object_ids)}))
            found = frame.join(F.broadcast(wanted), on="object_id", how="left_semi")
        rows = found.select(*select_columns()).collect()
        return {row["object_id"]: parse_state(row.asDict()) for row in rows}

    def iter_texts(self, table: str) -> Iterator[tuple[str, str]]:
        """Yield object id and `format_state` of all states, unordered, in constant memory."""
        frame = self.read(table)
        if frame is not None:
            fields = [
                column.alias(LETTERS[name]) for name, column in zip(NAMES, select_columns(), strict=True)
            ]
            texts = frame.select("object_id", F.to_json(F.struct(*fields)))
            pieces = texts.repartition(self._table.count_pieces())
            yield from pieces.toLocalIterator(prefetchPartitions=True)

    def iter_rows(self, table: str) -> Iterator[Row]:
        """Yield `select_columns` of all states, in the order of their keys, in constant memory."""
        frame = self.read(table)
        if frame is not None:
            rows = frame.select(*select_columns())
            pieces = rows.repartitionByRange(self._table.count_pieces(), "key").sortWithinPartitions("key")
            yield from pieces.toLocalIterator(prefetchPartitions=True)

    def read_seen(self, table: str, newest: Collection[LedgerEntry]) -> DataFrame | None:
        """Return `bucket`, `key` and the observation of objects with a `find_observation`; None if none.

        `newest` are states that the ledger does not have yet.
        """
        frame = self.read(table)
        found = build_frame(self._spark, [_to_observation(state) for state in newest], _SEEN_SCHEMA)
        if frame is None and not newest:
            return None
        if frame is not None:
            is_unread = F.col("status").isin("superseded", "removed")
            kept = frame.where(_is_seen()).select(
                "object_id",
                "bucket",
                "key",
                F.col("event_time").alias("after"),
                F.when(is_unread, F.lit("")).otherwise(F.col("etag")).alias("etag"),
                F.when(is_unread | (F.col("etag") != ""), F.col("looked_at")).alias("read_after"),
            )
            found = found.unionByName(kept.join(F.broadcast(found), "object_id", "left_anti"))
        return found.where(F.col("after").isNotNull()).drop("object_id")

    def read(self, table: str) -> DataFrame | None:
        """Return the rows of one data table; None if there are none yet."""
        if self.find_watermark(table) == NOTHING_KNOWN:
            return None
        frame = self._table.read()
        return None if frame is None else frame.where(F.col("table") == table)

    def _load_watermarks(self) -> dict[str, NumberedWatermark]:
        """Return the newest watermarks, and read the starts: other processes may have written since the last
        call."""
        timeline = self._table.load_timeline()
        if not timeline.exists():
            return self._watermarks
        new = [commit for commit in timeline.commits if commit.completed > self._read_until]
        found = [timeline.read_own_metadata(commit) for commit in new]
        if not self._read_until and not any(_WATERMARKS_KEY in metadata for metadata in found):
            found.append(timeline.find_metadata(_WATERMARKS_KEY) or {})  # archived by table services
        for metadata in found:
            if _WATERMARKS_KEY in metadata:
                read = parse_watermarks(metadata[_WATERMARKS_KEY])
                self._watermarks = merge_watermarks(self._watermarks, read)
            if STARTS_KEY in metadata:
                self._starts = merge_starts(self._starts, parse_starts(metadata[STARTS_KEY]))
        self._read_until = new[-1].completed if new else self._read_until
        return self._watermarks


def _build_column(field: pa.Field, table: str, states: Collection[LedgerEntry]) -> pa.Array:
    if field.name == "table":
        return pa.repeat(table, len(states)).cast(field.type)
    return pa.array([getattr(state, field.name) for state in states], field.type)


def _to_observation(state: LedgerEntry) -> tuple[object, ...]:
    found = find_observation(state)
    values = (None, None, None) if found is None else (found.after, found.etag, found.read_after)
    return (state.object_id, state.bucket, state.key, *values)


def _is_seen() -> Column:
    """Return whether a state has a `find_observation`, as a Spark column."""
    return (
        (F.col("looked") | F.col("looked_at").isNotNull())
        & (F.col("status") != "pending")
        & ~((F.col("status") == "removed") & (F.col("reason") != ABSENT))
        & ~(F.col("reason").isin(*CLEANED_REASONS) & F.col("status").isin("ingested", "skipped"))
    )


def select_columns() -> list[Any]:
    """Return the columns of a state, times in microseconds: PySpark would return the driver's local time."""
    return [F.unix_micros(name).alias(name) if name in TIMES else F.col(name) for name in NAMES]
