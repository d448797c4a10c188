"""Reads objects again in the same way, and compares them with a table's rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructType

from headwater.capture.position import BEGINNING
from headwater.capture.stored_event import StoredEvent
from headwater.config.table import TableConfig
from headwater.errors import IngestError
from headwater.ingest.columns.conforming import conform_frame
from headwater.ingest.committed_state import CommittedState
from headwater.ingest.lineage import (
    EVENT_ID,
    LINEAGE_COLUMNS,
    OBJECT,
    VERSION,
    build_lineage,
    build_uri,
)
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.planning.verification import ComparedObject
from headwater.ingest.processing.processor import BatchProcessor
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.reading.object_reader import scan_records
from headwater.ingest.reading.resolution import ReadRequest, build_requests
from headwater.ingest.record_source import RecordSource
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.local_frames import build_frame
from headwater.lake.options import DELETED
from headwater.lake.table import Table
from headwater.sources.lister import ListedObject
from headwater.sources.object_event import ObjectEvent

_JSON_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS", "ignoreNullFields": "true"}
_WANTED_SCHEMA = (
    StructType()
    .add("at", IntegerType())
    .add("wanted_object", StringType())
    .add("wanted_version", StringType())
)
_PLACE_SCHEMA = StructType().add("at", IntegerType()).add("address", StringType())
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """A table, the source of its objects, and its columns."""

    name: str
    config: TableConfig
    table: Table
    records: RecordSource
    state: CommittedState
    processor: BatchProcessor


class ObjectComparison:
    """Compares one batch of objects at a time inside Spark; only counts reach the driver."""

    def __init__(self, compared: ComparedTable) -> None:
        self._compared = compared
        self._records = compared.records

    def compare(self, objects: Sequence[tuple[ListedObject, LedgerEntry]]) -> list[ComparedObject]:
        """Return one result per object, in order. Raises `LakeError`, `SourceError` and `IngestError`."""
        with explained_read(self._compared.name):
            requests = build_requests([Decision(_to_event(*found), "read") for found in objects])
            self._records.ensure_schema([], self._compared.state)
            records = self._records.read(requests)
            if not records.is_at_hand:
                records.frame.persist(StorageLevel.MEMORY_AND_DISK)
            frames = [records.frame]
            try:
                seen = {at: str(found.outcome.status) for at, found in scan_records(records).objects.items()}
                frame, unapplied = self._process(records.frame, requests, objects, frames)
                frame = self._compared.processor.suppression.drop(frame)
                differences = {row["at"]: row for row in self._count_differences(frame, objects)}
                is_changed = self._is_changed()
            finally:
                for one in frames:
                    one.unpersist()
        results = _iter_results(requests, objects, seen, differences, is_changed=is_changed)
        if unapplied is None:
            return list(results)
        return [replace(found, lost=unapplied.get(at, 0)) for at, found in enumerate(results)]

    def _process(
        self,
        records: DataFrame,
        requests: Sequence[ReadRequest],
        objects: Sequence[tuple[ListedObject, LedgerEntry]],
        frames: list[DataFrame],
    ) -> tuple[DataFrame, Mapping[int, int] | None]:
        """Return the rows of the objects, and of change records how many the table lacks, by place."""
        transform, changes = self._compared.processor.records, self._compared.processor.changes
        if not (transform.is_active or changes):
            return records, None
        columns = self._compared.config.partition_columns
        outcomes = [
            (request.object_index, ObjectOutcome(request.stored, "ingested", version=entry.version, rows=1))
            for request, (_, entry) in zip(requests, objects, strict=True)
        ]
        lineages = [build_lineage(at, found, columns) for at, found in outcomes]
        if changes is None:
            return transform.apply(records, lineages), None
        read = BatchRead(records, tuple(outcomes), ())
        suppress = self._compared.processor.suppression.drop
        return changes.replay(read, lineages, self._compared.state.change_shape, frames, suppress)

    def _is_changed(self) -> bool:
        """True if a large object was replaced during the read, which invalidates the batch."""
        try:
            self._records.ensure_unchanged()
        except IngestError:
            return True
        return False

    def _count_differences(
        self, frame: DataFrame, objects: Sequence[tuple[ListedObject, LedgerEntry]]
    ) -> list[Row]:
        """Return rows (at, read, stored, `lost`, `foreign`), one per object that has any."""
        is_good = F.col("outcome").isNull() & F.col("corrupt").isNull()
        schema = frame.schema["record"].dataType
        assert isinstance(schema, StructType)  # noqa: S101 - as `ObjectReader` has it
        names = self._list_columns(schema)
        read = frame.where(is_good).select(
            F.col("object_index").alias("at"),
            _hash([F.col(f"record.`{name}`").alias(name) for name in names]),
        )
        # The same row may occur several times, on either side.
        by_row = _count_each_row(read, self._read_stored(objects, schema, names))
        zero = F.lit(0)
        return (
            by_row.groupBy("at")
            .agg(
                F.sum("read").alias("read"),
                F.sum("stored").alias("stored"),
                F.sum(F.greatest(F.col("read") - F.col("stored"), zero)).alias("lost"),
                F.sum(F.greatest(F.col("stored") - F.col("read"), zero)).alias("foreign"),
            )
            .collect()
        )

    def _list_columns(self, schema: StructType) -> list[str]:
        """List columns that come from the object alone: not from its key, its event, or the day."""
        config, rescued = self._compared.config, self._records.rescued_column
        own = {name.lower() for name in (*LINEAGE_COLUMNS, *config.partition_columns, rescued or "")}
        return [name for name in schema.fieldNames() if name.lower() not in own]

    def _read_stored(
        self,
        objects: Sequence[tuple[ListedObject, LedgerEntry]],
        schema: StructType,
        names: Sequence[str],
    ) -> DataFrame:
        table = self._compared.table
        rows = [
            (at, build_uri(entry.provider, entry.bucket, entry.key), entry.version)
            for at, (_, entry) in enumerate(objects)
        ]
        wanted = build_frame(table.spark, rows, _WANTED_SCHEMA)
        # Hashed before the join: the table's columns may have any names. An append table holds a content once
        # for each put: each write is compared by itself.
        adds_rows = self._compared.config.effective_mode == "append"
        write = (F.col(EVENT_ID) if adds_rows else F.lit("")).alias("write")
        hashed = conform_frame(table.read(), schema).select(
            OBJECT, VERSION, write, _hash([F.col(f"`{name}`") for name in names])
        )
        is_same = (F.col(OBJECT) == F.col("wanted_object")) & (F.col(VERSION) == F.col("wanted_version"))
        return hashed.join(F.broadcast(wanted), on=is_same, how="inner").select("at", "write", "hash")


class SetComparison(ObjectComparison):
    """Compares a whole set of files: its rows need not come from its own files, as equal ones are not written
    again.
    """

    def __init__(self, compared: ComparedTable, *, keeps_missing: bool) -> None:
        super().__init__(compared)
        self._keeps_missing = keeps_missing

    def _count_differences(
        self, frame: DataFrame, objects: Sequence[tuple[ListedObject, LedgerEntry]]
    ) -> list[Row]:
        """Return rows as the base class does; the first object has the `foreign` rows of the table."""
        compared = self._compared
        outcomes = tuple(
            (at, ObjectOutcome(_to_event(*found), "ingested", version=found[1].version, rows=1))
            for at, found in enumerate(objects)
        )
        writer = TableWriter(compared.name, compared.config, compared.table)
        different = writer.compare_set(BatchRead(frame, outcomes, ()))
        addresses = [(at, build_uri(e.provider, e.bucket, e.key)) for at, (_, e) in enumerate(objects)]
        places = build_frame(frame.sparkSession, addresses, _PLACE_SCHEMA)
        is_good = F.col("outcome").isNull() & F.col("corrupt").isNull()
        read = frame.where(is_good).groupBy(F.col("object_index").alias("at")).agg(F.count("*").alias("read"))
        is_foreign = F.col(DELETED).isNotNull()
        lost = different.where(~is_foreign).join(F.broadcast(places), on=F.col(OBJECT) == F.col("address"))
        counts = lost.groupBy("at").agg(F.count("*").alias("lost"))
        foreign = 0 if self._keeps_missing else different.where(is_foreign).count()
        return (
            read.join(counts, on="at", how="left")
            .select(
                "at",
                "read",
                F.col("read").alias("stored"),
                F.coalesce("lost", F.lit(0)).alias("lost"),
                F.when(F.col("at") == 0, F.lit(foreign)).otherwise(F.lit(0)).alias("foreign"),
            )
            .collect()
        )


def _count_each_row(read: DataFrame, stored: DataFrame) -> DataFrame:
    """Return (at, hash, read, stored): how often each row was read, and its highest count in one write."""
    sides = read.select(
        "at", "hash", F.lit("").alias("write"), F.lit(1).alias("read"), F.lit(0).alias("stored")
    )
    sides = sides.unionByName(
        stored.select("at", "hash", "write", F.lit(0).alias("read"), F.lit(1).alias("stored"))
    )
    by_write = sides.groupBy("at", "hash", "write").agg(
        F.sum("read").alias("read"), F.sum("stored").alias("stored")
    )
    return by_write.groupBy("at", "hash").agg(F.sum("read").alias("read"), F.max("stored").alias("stored"))


def _hash(columns: Sequence[Column]) -> Column:
    # As JSON: maps have no hash, and null and absent are the same.
    return F.xxhash64(F.to_json(F.struct(*columns), _JSON_OPTIONS)).alias("hash")


def _to_event(listed: ListedObject, entry: LedgerEntry) -> StoredEvent:
    """Build an event for exactly the content that the table has."""
    event = ObjectEvent(
        provider=entry.provider,
        bucket=entry.bucket,
        key=entry.key,
        version_id=entry.version if entry.version != entry.etag else None,
        sequencer=None,
        order_key=None,
        kind="created",
        event_name="",
        event_time=entry.event_time or _EPOCH,
        size=listed.size,
        etag=entry.etag or listed.etag,
    )
    return StoredEvent(event.event_id, event, event.event_time, "listing", BEGINNING)


def _iter_results(
    requests: Sequence[ReadRequest],
    objects: Sequence[tuple[ListedObject, LedgerEntry]],
    seen: Mapping[int, str],
    differences: Mapping[int, Row],
    *,
    is_changed: bool,
) -> Iterator[ComparedObject]:
    for request, (listed, _) in zip(requests, objects, strict=True):
        at = request.object_index
        status = "superseded" if is_changed else seen.get(at, "unavailable")
        found = differences.get(at)
        counts = (found["read"], found["stored"], found["lost"], found["foreign"]) if found else (0, 0, 0, 0)
        yield ComparedObject(listed.key, status, *counts)
