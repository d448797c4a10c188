"""The events that were taken from HoodieStreamer's events table: their message ids name its rows."""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.capture.events_table import EventsTable
from headwater.capture.position import BEGINNING, Position
from headwater.capture.row_marks import build_origin
from headwater.lake.jvm import explained_lake


class AdoptedEvents:
    """Those of one old table in the events table. Methods raise `LakeError`."""

    def __init__(self, events: EventsTable, address: str) -> None:
        self._events = events
        self.origin = build_origin(address)

    def find_last_mark(self) -> str:
        """Return the greatest mark; empty if there is no such event. They were appended in this order."""
        with explained_lake(self._events.path):
            rows = self._select()
            found = rows.agg(F.max("message_id")).first() if rows is not None else None
        return str(found[0]).removeprefix(self.origin) if found and found[0] is not None else ""

    def find_position(self, bound: str) -> Position:
        """Return the offset after the events with marks up to the bound."""
        with explained_lake(self._events.path):
            rows = self._select()
            if rows is None:
                return BEGINNING
            last = F.max(F.struct("_hoodie_commit_time", "batch_index"))
            found = rows.where(F.col("message_id") <= self.origin + bound).agg(last).first()
        if found is None or found[0] is None:
            return BEGINNING
        return self._events.find_completed(*found[0])

    def has_others(self, buckets: Collection[str]) -> bool:
        """True if the events table has other events of these buckets."""
        with explained_lake(self._events.path):
            snapshot = self._events.read_snapshot()
            if snapshot is None:
                return False
            return not snapshot.where(F.col("bucket").isin(*buckets) & ~self._is_own()).isEmpty()

    def _select(self) -> DataFrame | None:
        snapshot = self._events.read_snapshot()
        return None if snapshot is None else snapshot.where(self._is_own())

    def _is_own(self) -> Column:
        return F.coalesce(F.col("message_id").startswith(self.origin), F.lit(False))
