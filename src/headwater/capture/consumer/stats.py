"""Counters of a consumer for status pages, metrics and tests."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from headwater.observability.metric_names import CounterName
from headwater.observability.metrics import Metrics

StatName = Literal[
    "messages",
    "redelivered",
    "events",
    "duplicates",
    "quarantined",
    "commits",
    "deleted",
    "deletes_failed",
    "extended",
    "extensions_failed",
]

_METRICS: dict[StatName, CounterName] = {
    "messages": "messages_received",
    "events": "events_committed",
    "duplicates": "events_duplicate",
    "deleted": "messages_deleted",
    "deletes_failed": "messages_delete_failed",
    "extended": "visibility_timeout_changed",
    "extensions_failed": "visibility_timeout_change_failed",
}


@dataclass(frozen=True, slots=True)
class CaptureStats:
    """Counts since the consumer was built.

    `messages`: deliveries, including redeliveries; `redelivered`: deliveries of messages that were already
    in process or committed. `events`: committed; `duplicates`: recognised and not committed again.
    `skipped`: parts of messages that are not object events, by reason. `quarantined`: items committed.
    """

    messages: int = 0
    redelivered: int = 0
    events: int = 0
    duplicates: int = 0
    quarantined: int = 0
    commits: int = 0
    deleted: int = 0
    deletes_failed: int = 0
    extended: int = 0
    extensions_failed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


def sum_stats(parts: Sequence[CaptureStats]) -> CaptureStats:
    """Return the counts of several consumers together."""
    names = get_args(StatName)
    counts = {name: sum(getattr(part, name) for part in parts) for name in names}
    skipped = sum((Counter(part.skipped) for part in parts), Counter[str]())
    return CaptureStats(**counts, skipped=dict(skipped))


class StatsCounter:
    """Counts from many threads and updates the matching metrics."""

    def __init__(self, metrics: Metrics | None) -> None:
        self.metrics = metrics
        self._lock = threading.Lock()
        self._counts: Counter[StatName] = Counter()
        self._skipped: Counter[str] = Counter()

    def add(self, name: StatName, amount: int = 1) -> None:
        """Increase a counter by `amount`."""
        if not amount:
            return
        with self._lock:
            self._counts[name] += amount
        metric = _METRICS.get(name)
        if self.metrics and metric:
            self.metrics.count(metric, amount)

    def add_skipped(self, skipped: Counter[str]) -> None:
        """Count skipped parts by reason."""
        with self._lock:
            self._skipped += skipped

    def read(self) -> CaptureStats:
        """Return the current counts."""
        with self._lock:
            counts = self._counts
            return CaptureStats(
                messages=counts["messages"],
                redelivered=counts["redelivered"],
                events=counts["events"],
                duplicates=counts["duplicates"],
                quarantined=counts["quarantined"],
                commits=counts["commits"],
                deleted=counts["deleted"],
                deletes_failed=counts["deletes_failed"],
                extended=counts["extended"],
                extensions_failed=counts["extensions_failed"],
                skipped=dict(self._skipped),
            )
