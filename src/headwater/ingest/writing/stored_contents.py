"""The contents of objects with rows in a data table, and their number of writes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.lineage import EVENT_ID, EVENT_TIME, OBJECT, REMOVED_AT, VERSION, build_uri
from headwater.ingest.planning.fold import FoldRules
from headwater.ingest.planning.outcome import ContentState
from headwater.ingest.planning.outdated import (
    ContentWrite,
    Outdated,
    choose_replaced,
)
from headwater.ingest.planning.puts import count_puts
from headwater.ingest.planning.verification import WriteCounts
from headwater.ingest.writing.retraction import OutdatedRows
from headwater.lake.table import Table
from headwater.sources.object_event import name_version, strip_digest
from headwater.sources.object_store import ObjectRef

if TYPE_CHECKING:
    from headwater.capture.events_table import EventsTable


class StoredContents:
    """The contents of one data table, as its next batch needs them. Every method raises `LakeError`."""

    def __init__(self, table: Table, events: "EventsTable", rules: FoldRules) -> None:
        self._table = table
        self._events = events
        self._rules = rules

    def find_ingested(self, refs: Sequence[ObjectRef]) -> dict[ContentState, int]:
        """Return the objects' contents with rows in the table, and the number of rows per write."""
        by_uri = {build_uri(ref.provider, ref.bucket, ref.key): ref for ref in refs}
        found = {
            (by_uri[uri].bucket, by_uri[uri].key, version): writes[-1]
            for uri, counts in find_row_counts(self._table, list(by_uri)).items()
            for version, writes in counts.items()
        }
        _add_undigested(refs, found)
        return found

    def list_outdated_rows(self, outdated: Sequence[Outdated]) -> list[OutdatedRows]:
        """Convert outdated contents to rows of the table."""
        repaired = [entry for entry in outdated if entry.is_replaced and not self._rules.mirrors]
        replaced = self._choose_replaced(repaired)
        outdated_rows = []
        for entry in outdated:
            uri = _address(entry)
            outdated_rows.append(OutdatedRows(uri, replaced.get(uri) if entry in repaired else None))
        return outdated_rows

    def _choose_replaced(self, repaired: Sequence[Outdated]) -> dict[str, frozenset[str]]:
        if not repaired:
            return {}
        versions = {_address(entry): entry.outcome.version for entry in repaired}
        known = {_address(entry): entry.outcome.stored.event for entry in repaired}
        replaced = {}
        stored = find_writes(self._table, list(versions))
        events = self._find_events({(known[uri].bucket, known[uri].key) for uri in stored})
        for uri, writes in stored.items():
            puts = count_puts(events.get((known[uri].bucket, known[uri].key), ()), writes)
            provider, written = known[uri].provider, {write.version for write in writes}
            plain = strip_digest(provider, versions[uri])
            if versions[uri] not in written and plain in written:
                # Written by a release without digests.
                versions[uri] = plain
            by_version = {version: puts.get(strip_digest(provider, version), 1) for version in written}
            replaced[uri] = choose_replaced(writes, by_version, versions[uri])
        return replaced

    def _find_events(self, objects: Collection[tuple[str, str]]) -> dict[tuple[str, str], list[StoredEvent]]:
        """Return all events of the objects by bucket and key. Reads the events table once per bucket."""
        found: dict[tuple[str, str], list[StoredEvent]] = {}
        for bucket in {bucket for bucket, _ in objects}:
            keys = sorted((key,) for other, key in objects if other == bucket)
            wanted = F.broadcast(self._table.spark.createDataFrame(keys, "key string"))
            for row, events in self._events.iter_objects(bucket, wanted):
                found[bucket, row["key"]] = events
        return found


def _add_undigested(refs: Sequence[ObjectRef], found: dict[ContentState, int]) -> None:
    """Count rows of older releases, whose versions have no digest, as those of the file's content.

    A mirror reads the file again instead: its rows are replaced.
    """
    for ref in refs:
        version = name_version(ref.version_id, ref.etag)
        plain = (ref.bucket, ref.key, strip_digest(ref.provider, version))
        if plain in found:
            found.setdefault((ref.bucket, ref.key, version), found[plain])


def _address(entry: Outdated) -> str:
    event = entry.outcome.stored.event
    return build_uri(event.provider, event.bucket, event.key)


def find_row_counts(table: Table, uris: Sequence[str]) -> dict[str, WriteCounts]:
    """Return row counts of the objects that have rows, by address. Raises `LakeError`."""
    return {uri: _count_rows(writes) for uri, writes in find_writes(table, uris).items()}


def find_writes(table: Table, uris: Sequence[str]) -> dict[str, list[ContentWrite]]:
    """Return the writes of the objects that have rows, by address. Raises `LakeError`."""
    if not table.load_timeline().has_commits():
        return {}
    counted = _count(table.read().where(F.col(OBJECT).isin(list(uris))))
    return {row[OBJECT]: [ContentWrite(*write) for write in row["writes"]] for row in counted.collect()}


def iter_row_counts(table: Table, uri_prefix: str) -> Iterator[tuple[str, WriteCounts]]:
    """Yield keys below `uri_prefix` with the counts of their versions, in order. Raises `LakeError`."""
    if not table.load_timeline().has_commits():
        return
    counted = _count(table.read().where(F.col(OBJECT).startswith(uri_prefix)))
    for row in counted.orderBy(OBJECT).toLocalIterator(prefetchPartitions=True):
        writes = [ContentWrite(*write) for write in row["writes"]]
        yield row[OBJECT][len(uri_prefix) :], _count_rows(writes)


def select_repeated(table: Table, uri_prefix: str) -> DataFrame | None:
    """Select key and `writes` of objects with a content written more than once; None without any row."""
    if not table.load_timeline().has_commits():
        return None
    counted = _count(table.read().where(F.col(OBJECT).startswith(uri_prefix)))
    versions = F.transform("writes", lambda write: write["version"])
    repeated = counted.where(F.size(F.array_distinct(versions)) < F.size("writes"))
    key = F.substr(F.col(OBJECT), F.lit(len(uri_prefix) + 1)).alias("key")
    return repeated.select(key, "writes")


def iter_announced(
    table: Table, events: "EventsTable", bucket: str, uri_prefix: str
) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield a key with the number of puts of each content that the table wrote more than once.

    Ordered by key. Raises `LakeError`.
    """
    repeated = select_repeated(table, uri_prefix)
    if repeated is None:
        return
    provider = "local" if uri_prefix.startswith("/") else ""
    for row, found in events.iter_objects(bucket, repeated):
        writes = [ContentWrite(*write) for write in row["writes"]]
        puts = count_puts(found, writes)
        versions = {write.version for write in writes}
        yield row["key"], {version: puts.get(strip_digest(provider, version), 0) for version in versions}


@dataclass(frozen=True, slots=True)
class OutsideRows:
    """Rows of objects in no source of the table: their `objects`, their number, and the first address."""

    objects: int = 0
    rows: int = 0
    example: str = ""


def count_outside(table: Table, uri_prefixes: Collection[str]) -> OutsideRows:
    """Count rows of objects outside all of `uri_prefixes`; rows without an object do not count.

    Raises `LakeError`.
    """
    if not table.load_timeline().has_commits():
        return OutsideRows()
    rows = table.read()
    if OBJECT not in rows.columns:
        return OutsideRows()
    is_inside = reduce(or_, (F.col(OBJECT).startswith(prefix) for prefix in uri_prefixes))
    outside = rows.where(F.col(OBJECT).isNotNull() & ~is_inside)
    objects = outside.groupBy(OBJECT).agg(F.count(F.lit(1)).alias("rows"))
    row = objects.agg(
        F.count(F.lit(1)), F.coalesce(F.sum("rows"), F.lit(0)), F.coalesce(F.min(OBJECT), F.lit(""))
    ).first()
    return OutsideRows() if row is None else OutsideRows(*row)


def _select_present(rows: DataFrame) -> DataFrame:
    return rows.where(F.col(REMOVED_AT).isNull()) if REMOVED_AT in rows.columns else rows


def _version() -> Column:
    return F.coalesce(VERSION, F.lit("")).alias("version")


def _count(rows: DataFrame) -> DataFrame:
    counted = (
        _select_present(rows)
        .groupBy(OBJECT, _version(), EVENT_ID)
        .agg(F.count(F.lit(1)).alias("rows"), F.unix_micros(F.max(EVENT_TIME)).alias("time"))
    )
    write = F.struct("version", F.col(EVENT_ID).alias("event_id"), "time", "rows")
    return counted.groupBy(OBJECT).agg(F.collect_list(write).alias("writes"))


def _count_rows(writes: Sequence[ContentWrite]) -> Mapping[str, Sequence[int]]:
    found: dict[str, list[int]] = {}
    for write in writes:
        found.setdefault(write.version, []).append(write.rows)
    return found
