"""`ObjectOutcome`: the result for one object of a batch, and the counts of a batch. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.observation import order_events

ContentState = tuple[str, str, str]
"""Bucket, key, and version id or etag."""

OutcomeStatus = Literal[
    "ingested", "skipped", "superseded", "removed", "missing", "quarantined", "unavailable"
]
"""The result for an object in one batch. `missing` and `unavailable`: the read did not find or reach it."""

CHECKPOINT = "checkpoint"
"""Commit metadata key for the `end` of the batch, in a table built from objects."""
FOLLOWED = "followed"
"""Commit metadata key for the same, in a table built from another one."""


@dataclass(frozen=True, slots=True)
class ObjectOutcome:
    """`rows` were written to the table, `bad_rows` to quarantine; `bytes` is the fetched size. `version` is
    the version id or etag that was read, `etag` that of the same content. `looked` means that it was the
    current content, which need not be the event's. `kept` rows of that content were in the table before.
    `suppressed` rows are of forgotten subjects, and not written.
    """

    stored: StoredEvent
    status: OutcomeStatus
    reason: str = ""
    detail: str = ""
    bytes: int = 0
    rows: int = 0
    bad_rows: int = 0
    version: str = ""
    etag: str = ""
    looked: bool = False
    kept: int = 0
    suppressed: int = 0


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The effect of one batch on one table, for the CLI, the log, metrics and commit metadata.

    `seconds` are of the whole batch, `commit_seconds` of writing rows and retractions. `deleted` rows
    were removed from a table that is built from another one. `filtered` counts events excluded by the table's
    rules, `foreign` those of other buckets; `warnings` name failed checks that only warn.
    """

    table: str
    end: str
    objects: Counter[str]
    skipped: Counter[str]
    rows: int = 0
    deleted: int = 0
    bad_rows: int = 0
    bytes: int = 0
    filtered: int = 0
    foreign: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    commit_seconds: float = 0.0
    committed: bool = False
    more: bool = False
    warnings: tuple[str, ...] = ()
    freshness: tuple[float, ...] = field(default=(), repr=False)


def order_outcomes(outcomes: Iterable[ObjectOutcome]) -> list[ObjectOutcome]:
    """Order outcomes by object, and those of one object by its events."""
    by_object: dict[str, list[ObjectOutcome]] = {}
    for outcome in outcomes:
        by_object.setdefault(outcome.stored.event.object_id, []).append(outcome)
    return [one for name in sorted(by_object) for one in order_events(by_object[name], lambda o: o.stored)]


def build_already_ingested(
    stored: StoredEvent, state: ContentState, etag: str, *, looked: bool, kept: int
) -> ObjectOutcome:
    """Build outcomes of content that the table has in `kept` rows, or (0) ingests with another event.

    `looked`: found by reading the key.
    """
    return ObjectOutcome(
        stored, "superseded", "already_ingested", version=state[-1], etag=etag, looked=looked, kept=kept
    )


def count_outcomes(outcomes: Iterable[ObjectOutcome]) -> tuple[Counter[str], Counter[str]]:
    """Count objects by status, and those not ingested by reason."""
    by_status: Counter[str] = Counter()
    by_reason: Counter[str] = Counter()
    for outcome in outcomes:
        by_status[outcome.status] += 1
        if outcome.reason:
            by_reason[outcome.reason] += 1
    return by_status, by_reason
