"""`ReconcilePass`: progress and findings of one reconcile. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

LISTING = "listing"
START = "start"
"""A pass that only records when headwater first used the bucket: nothing was listed."""
RESUMABLE = timedelta(days=1)
"""Maximum age of an unfinished pass that resumes; an older one is restarted."""


@dataclass(frozen=True, slots=True)
class ReconcilePass:
    """One comparison of a bucket and prefix with the events table, over all its resumptions.

    `listing` is `listing`, or the address of an inventory's manifest. `started_at` is the time of the
    listing: later changes do not count. All keys up to `cursor` are done. `listed` counts objects;
    `missing`, `changed` and `vanished` count differences. `unsettled` counts objects too young to judge,
    which are left to their notifications. `emitted` counts new events.
    """

    pass_id: str
    bucket: str
    prefix: str
    listing: str
    started_at: datetime
    cursor: str = ""
    finished_at: datetime | None = None
    listed: int = 0
    missing: int = 0
    changed: int = 0
    vanished: int = 0
    unsettled: int = 0
    emitted: int = 0

    @property
    def differences(self) -> int:
        """Return the number of objects whose events differ from the listing."""
        return self.missing + self.changed + self.vanished

    def add(self, **counts: int) -> "ReconcilePass":
        """Return a copy with these counters increased."""
        return replace(self, **{name: getattr(self, name) + count for name, count in counts.items()})


class UnrecordedPasses:
    """Forgets passes: for one that no later pass depends on."""

    def save(self, done: ReconcilePass) -> None:
        """Do nothing."""

    def list_passes(self, bucket: str, prefix: str) -> list[ReconcilePass]:  # noqa: ARG002 - see `PassLog`
        """Return no passes."""
        return []


def find_unfinished(
    passes: Iterable[ReconcilePass], listing: str, now: datetime, restored_at: datetime | None = None
) -> ReconcilePass | None:
    """Return the pass to resume: the newest of that listing, if it is neither finished nor too old.

    A pass from before a restore of the lake is not resumed: changes of keys before its cursor were lost.
    """
    passes = select_since(passes, restored_at)
    newest = max((p for p in passes if p.listing == listing), key=lambda p: p.started_at, default=None)
    if newest is None or newest.finished_at is not None or now - newest.started_at >= RESUMABLE:
        return None
    return newest


def select_since(passes: Iterable[ReconcilePass], restored_at: datetime | None) -> list[ReconcilePass]:
    """Return passes that began since a restore of the lake; all for a lake that was not restored."""
    return [p for p in passes if restored_at is None or p.started_at >= restored_at]


def find_last_finished(passes: Iterable[ReconcilePass]) -> ReconcilePass | None:
    """Return the pass that finished last."""
    finished = [p for p in passes if p.finished_at is not None and p.listing != START]
    return max(finished, key=lambda p: (p.finished_at, p.started_at), default=None)


def find_first(passes: Iterable[ReconcilePass]) -> ReconcilePass | None:
    """Return the first pass ever: older objects existed before headwater."""
    return min(passes, key=lambda p: p.started_at, default=None)
