"""The stored rows that a batch makes outdated, and the content that a mirror has applied. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headwater.ingest.planning.fold import FoldRules
from headwater.ingest.planning.ledger_entry import LedgerEntry, keeps_rows
from headwater.ingest.planning.observation import is_repair
from headwater.ingest.planning.outcome import ContentState, ObjectOutcome
from headwater.ingest.planning.plan import BatchPlan

_CHANGES_NOTHING = frozenset({"not_content", "removal_ignored"})


@dataclass(frozen=True, slots=True)
class Outdated:
    """The stored rows of the outcome's object must be removed or replaced.

    `is_replaced`: a repair writes the rows again; the object was not removed.
    """

    outcome: ObjectOutcome
    is_replaced: bool = False


class ContentWrite(NamedTuple):
    """The rows that one event put into a table; `time` is the event's, in microseconds since the epoch."""

    version: str
    event_id: str
    time: int
    rows: int


def choose_replaced(
    writes: Iterable[ContentWrite], announced: Mapping[str, int], repaired: str
) -> frozenset[str]:
    """Return events whose rows leave an append table when a repair writes the version `repaired` again.

    A content is written once for each put, which `announced` counts by version. Of surplus writes the oldest
    stay. The newest write of the repaired content is replaced by its new rows.
    """
    by_version: dict[str, list[ContentWrite]] = {}
    for write in writes:
        by_version.setdefault(write.version, []).append(write)
    replaced: set[str] = set()
    for version, found in by_version.items():
        found.sort(key=lambda write: (write.time, write.event_id))
        kept = min(len(found), max(1, announced.get(version, 1))) - (version == repaired)
        replaced |= {write.event_id for write in found[kept:]}
    return frozenset(replaced)


def find_outdated(plan: BatchPlan, outcomes: Sequence[ObjectOutcome], rules: FoldRules) -> list[Outdated]:
    """Return the table's rows that the commit of the batch removes."""
    excluded = {decision.stored.event_id for decision in plan.choose("retract")}
    outdated = []
    for outcome in outcomes:
        event = outcome.stored.event
        if outcome.status == "superseded" or outcome.reason in _CHANGES_NOTHING or keeps_rows(outcome):
            continue
        state, is_asked = plan.states.get(event.object_id), is_repair(event)
        if outcome.stored.event_id in excluded:
            is_outdated = state is not None
        elif rules.mirrors:
            is_outdated = is_asked or (state is not None and state.rows > 0)
        else:
            # Rows of an append are new for each read: those of the same content are removed.
            is_outdated = is_asked and not rules.merges
        if is_outdated:
            outdated.append(Outdated(outcome, is_replaced=is_asked))
    return outdated


def find_applied(
    addresses: Iterable[tuple[str, str]], states: Mapping[str, LedgerEntry]
) -> dict[ContentState, int]:
    """Return the contents of these buckets and keys that a mirror has applied, and their number of rows."""
    applied = {(s.bucket, s.key): s for s in states.values() if s.status in ("ingested", "skipped")}
    found = (applied.get(address) for address in addresses)
    return {(s.bucket, s.key, s.version): s.rows for s in found if s is not None and s.version}
