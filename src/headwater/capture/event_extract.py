"""Copies all events of some objects to the events tables of other lakes, in their order."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from headwater.capture.event_rows import EVENTS_SCHEMA
from headwater.capture.events_table import EventsTable
from headwater.capture.position import BEGINNING, EventRange, Position
from headwater.lake.jvm import explained_lake
from headwater.lake.local_frames import build_frame

_EVENTS_A_COMMIT = 50_000
"""A reader loads at least one commit at a time into the driver."""
_OBJECT = ("bucket", "key")
_OBJECT_SCHEMA = StructType([StructField(name, StringType()) for name in _OBJECT])


class EventExtract:
    """All events, up to an offset, of the objects that have an event after another one."""

    def __init__(self, events: EventsTable, until: Position) -> None:
        self._events = events
        self._until = until

    def choose_since(self, since: Position, buckets: Collection[str]) -> DataFrame | None:
        """Return the events of the objects of these buckets that have one after `since`; None without any."""
        newest = self._events.read_range(EventRange(since, self._until))
        if newest is None:
            return None
        found = newest.where(F.col("bucket").isin(sorted(buckets))).select(*_OBJECT).distinct()
        return self._choose(found)

    def choose(self, objects: Sequence[tuple[str, str]]) -> DataFrame | None:
        """Return the events of these objects, each a bucket and a key; None without any."""
        every = self._events.read_snapshot()
        if every is None or not objects:
            return None
        return self._choose(build_frame(every.sparkSession, objects, _OBJECT_SCHEMA))

    def _choose(self, objects: DataFrame) -> DataFrame | None:
        every = self._events.read_range(EventRange(BEGINNING, self._until))
        return None if every is None else every.join(objects, list(_OBJECT), "left_semi")


def copy_events(chosen: DataFrame, targets: Sequence[EventsTable]) -> int:
    """Append events of one lake to the empty events tables of others; return their number.

    Processes that share an events table may store an event twice; it is copied once. Raises `LakeError`.
    """
    with explained_lake(targets[0].path), _numbered(chosen) as numbered:
        count = numbered.count()
        for first in range(0, count, _EVENTS_A_COMMIT):
            is_part = F.col("batch_index").between(first, first + _EVENTS_A_COMMIT - 1)
            part = numbered.where(is_part).coalesce(1)
            for target in targets:
                target.append_frame(part, min(_EVENTS_A_COMMIT, count - first))
    return count


@contextmanager
def _numbered(chosen: DataFrame) -> Iterator[DataFrame]:
    """Yield the events in the order of their commits, from 0."""
    order = ("_hoodie_commit_time", "batch_index", "event_id")
    copies = F.row_number().over(Window.partitionBy("event_id").orderBy(*order))
    first = chosen.withColumn("copy", copies).where("copy = 1")
    number = (F.row_number().over(Window.orderBy(*order)) - 1).cast("int")
    frame = first.withColumn("batch_index", number).select(*EVENTS_SCHEMA.fieldNames())
    frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield frame
    finally:
        frame.unpersist()
