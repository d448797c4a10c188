"""Which stored rows a batch puts out of date, and which content the table may have already. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.fold import FoldRules
from headwater.ingest.planning.ledger_entry import CLOCK_MARGIN, LedgerEntry, is_repair, keeps_rows
from headwater.ingest.planning.order import sort_key
from headwater.ingest.planning.outcome import ContentState, ObjectOutcome
from headwater.ingest.planning.plan import BatchPlan


@dataclass(frozen=True, slots=True)
class Outdated:
    """The stored rows of the outcome's object, or of one version of it, are not to stay as they are.

    `is_replaced`: not because the object was removed, but because its rows come anew.
    """

    outcome: ObjectOutcome
    version: str = ""
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
    """Events whose rows leave an append table when a repair writes the version `repaired` again.

    A content is written once for each time it was put, which `announced` counts by version: of more writes
    the oldest stay, and the newest of the repaired content makes room for its new rows.
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


def find_outdated(
    plan: BatchPlan, outcomes: Sequence[ObjectOutcome], states: Mapping[str, LedgerEntry], rules: FoldRules
) -> list[Outdated]:
    """What of the table's rows goes, or is marked, in the commit of the batch."""
    scopes = {decision.stored.event_id: decision.version for decision in plan.choose("retract")}
    outdated = []
    for outcome in outcomes:
        event, event_id = outcome.stored.event, outcome.stored.event_id
        if outcome.status == "superseded" or outcome.reason == "not_content" or keeps_rows(outcome):
            continue
        state, version = states.get(event.object_id), scopes.get(event_id, "")
        is_absent = outcome.status == "removed" and outcome.looked
        is_gone = state is not None and (
            event_id in scopes or is_absent or (rules.mirrors and state.rows > 0)
        )
        is_replaced = is_repair(event) and event.kind != "removed"
        if is_repair(event):
            # Rows of an append are new whenever they are read: those of the same version make room.
            version = "" if rules.mirrors else outcome.version
            is_gone = not rules.merges or event_id in scopes
        if is_gone:
            outdated.append(Outdated(outcome, version, is_replaced))
    return outdated


def keep_left(found: Mapping[ContentState, int], plan: BatchPlan) -> dict[ContentState, int]:
    """Of the states whose rows the table has, those that it still has after the batch's retractions."""
    gone = {(d.stored.event.bucket, d.stored.event.key): d.version for d in plan.choose("retract")}
    return {state: rows for state, rows in found.items() if gone.get(state[:2]) not in ("", state[2])}


def is_doubtful(stored: StoredEvent, states: Mapping[str, LedgerEntry]) -> bool:
    """Whether the content may have been taken in: something newer was, or something no event had named.

    What the last look found is not what counts any more, once an older event has led to something else; its
    own event may come all the same.
    """
    state = states.get(stored.event.object_id)
    if state is None or is_repair(stored.event):
        return False
    looked_at = state.looked_at
    may_be_seen = looked_at is not None and stored.event.event_time <= looked_at + CLOCK_MARGIN
    return state.looked or may_be_seen or sort_key(stored) <= state.sort_key


def find_applied(
    addresses: Iterable[tuple[str, str]], states: Mapping[str, LedgerEntry]
) -> dict[ContentState, int]:
    """What a mirror has applied of these buckets and keys, and how many rows that is."""
    applied = {(s.bucket, s.key): s for s in states.values() if s.status in ("ingested", "skipped")}
    found = (applied.get(address) for address in addresses)
    return {(s.bucket, s.key, s.version): s.rows for s in found if s is not None and s.version}
