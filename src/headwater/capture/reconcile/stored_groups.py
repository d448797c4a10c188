"""`StoredGroups`: the groups of all events up to a moment, so that a reconcile groups only later ones."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.capture.events_table import EventsTable
from headwater.capture.reconcile.grouping import (
    GROUP_SCHEMA,
    KEYS,
    group_events,
    merge_groups,
    reduce_groups,
    select_describing,
)
from headwater.errors import LakeError
from headwater.lake.jvm import explained_lake
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table

_log = logging.getLogger(__name__)

LEAST_EVENTS = 100_000
"""Fewer later events are grouped in seconds: they are not worth a commit."""
_SHARE = 0.25
"""Later events, as a share of the stored groups, from which rewriting the groups pays off."""
_FORMAT = "1"
_LATE = timedelta(days=35)
"""Longer than a queue and its dead-letter queue keep a message, one after the other."""
_COMMIT = "_hoodie_commit_time"


@dataclass(frozen=True, slots=True)
class FoundGroups:
    """Groups of all events up to the commit requested at `until`; `rows` is their number."""

    groups: DataFrame
    until: str
    rows: int

    @property
    def is_later(self) -> Column:
        """True of the events that they do not cover."""
        return F.col(_COMMIT) > self.until


class StoredGroups:
    """A table that can be deleted at any time: it is derived from the events table.

    Written only by the process that reconciles, and replaced as a whole.
    """

    def __init__(self, spark: SparkSession, path: str, events: EventsTable) -> None:
        self._table = Table(spark, path)
        self._events = events

    def load(self) -> FoundGroups | None:
        """Return the groups; None without any, or if they cannot be used, so that all events are read."""
        try:
            with explained_lake(self._table.path):
                return self._load()
        except LakeError as error:
            _log.warning("%s: unusable, reading all events instead: %s", self._table.path, error.message)
            return None

    def _load(self) -> FoundGroups | None:
        timeline = self._table.load_timeline()
        found = (timeline.find_metadata("until") if timeline.has_commits() else None) or {}
        events = self._events.read_snapshot() if found.get("format") == _FORMAT else None
        if events is None:
            return None
        until = found["until"]
        if events.where(F.col(_COMMIT) == until).isEmpty():
            # The table was made again, or is an older one from a backup: it lacks events of the groups.
            return None
        groups = self._table.read().select(*GROUP_SCHEMA.names)
        return FoundGroups(groups, until, groups.count())

    def refresh(self, now: datetime) -> bool:
        """Add later events if there are many; return whether the groups were written."""
        try:
            with explained_lake(self._table.path):
                return self._refresh(now)
        except LakeError as error:
            _log.warning("%s: not written, reading more events instead: %s", self._table.path, error.message)
            return False

    def _refresh(self, now: datetime) -> bool:
        events, found = self._events.read_snapshot(), self.load()
        if events is None:
            return False
        later = events.where(F.col(_COMMIT) <= self._events.find_settled(now))
        if found is not None:
            later = later.where(found.is_later)
        counted = later.agg(F.count(F.lit(1)), F.max(_COMMIT)).first()
        number, until = counted or (0, "")
        if number < max(LEAST_EVENTS, _SHARE * (found.rows if found else 0)):
            return False
        groups = group_events(select_describing(later))
        if found is not None:
            groups = merge_groups(found.groups, groups)
        metadata = {"format": _FORMAT, "until": until}
        self._table.write(reduce_groups(groups, now - _LATE), _build_options(metadata))
        _log.info("grouped %d more events for reconciles", number)
        return True

    def sample_keys(self, bucket: str, one_in: int) -> list[str]:
        """Return about one in so many of the bucket's keys with events, unordered. Raises `LakeError`.

        Where there are groups, keys that have only later events are left out.
        """
        found = self.load()
        keys = found.groups if found else self._events.read_snapshot()
        if keys is None:
            return []
        with explained_lake(self._table.path):
            is_sampled = F.pmod(F.xxhash64("key"), F.lit(one_in)) == 0
            sampled = keys.where((F.col("bucket") == bucket) & is_sampled).select("key").distinct()
            return [row["key"] for row in sampled.collect()]


def _build_options(metadata: dict[str, str]) -> WriteOptions:
    return WriteOptions(
        table_name="event_groups",
        operation="insert_overwrite_table",
        record_key=KEYS,
        unique_keys=True,
        keep_commits=1,
        clean_after=1,
        commit_metadata=metadata,
    )
