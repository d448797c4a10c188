"""What `clean_source` does to the bucket is not followed: its events, set aside before the fold. Pure.

The own event is committed before anything is done to the object, so every table has read it when the removal
comes. From then on only something new under the key counts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.capture.own_events import TAGGED_EVENT
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.ledger_entry import (
    CLEANED_REASONS,
    LedgerEntry,
    is_cleaned,
    is_drop,
    is_new_content,
    is_request,
    names_content_of,
)
from headwater.ingest.planning.order import is_cleaning, is_from_listing, sort_key
from headwater.ingest.planning.outcome import ObjectOutcome


@dataclass(frozen=True, slots=True)
class SetAside:
    """`decisions` about the cleaning itself; `rest` are the events that mean what they always mean.

    `is_replaced`: something new was put under the key. Removals that were taken for our own may have been of
    that, so only a look tells what lies there.
    """

    decisions: list[Decision]
    rest: list[StoredEvent]
    is_replaced: bool = False


def set_aside_cleaning(events: Sequence[StoredEvent], prior: LedgerEntry | None) -> SetAside:
    """Split one object's events, given in order; `prior` is what the table has applied so far."""
    marks = [stored for stored in events if is_cleaning(stored.event)]
    if prior is None or not _is_under_cleaning(marks, prior):
        rest = [stored for stored in events if not is_cleaning(stored.event)]
        return SetAside([Decision(stored, "skip", "superseded") for stored in marks], rest)
    new = [stored for stored in events if is_new_content(stored, prior)]
    found = SetAside([], [], bool(new))
    for stored in events:
        decision = _decide(stored, prior, new)
        if decision is None:
            found.rest.append(stored)
        else:
            found.decisions.append(decision)
    return found


def look_instead(decision: Decision, *, mirrors: bool) -> Decision:
    """For a table that follows removals, of an object that was replaced after it was cleaned.

    Outside of mirrors a version that can still be read is read, whatever was put since.
    """
    if mirrors:
        is_doubtful = decision.action in ("read", "retract")
    else:
        is_doubtful = decision.action == "read" and not decision.stored.event.version_id
    return replace(decision, action="look", reason=None) if is_doubtful else decision


def find_cleaned(decisions: Iterable[Decision], states: Mapping[str, LedgerEntry]) -> set[str]:
    """Ids of the objects that were cleaned before the batch, or are by one of its events."""
    marked = {d.stored.event.object_id for d in decisions if d.reason in CLEANED_REASONS}
    return marked | {object_id for object_id, state in states.items() if is_cleaned(state)}


def keep_cleaned(outcome: ObjectOutcome, cleaned: Collection[str]) -> ObjectOutcome:
    """The outcome of a look that a wish or a listing led to: of a cleaned object nothing need be there."""
    is_absent = outcome.status == "missing" or outcome.reason == "forbidden"
    is_own = is_from_listing(outcome.stored) and outcome.stored.event.object_id in cleaned
    return ObjectOutcome(outcome.stored, "skipped", "cleaned") if is_absent and is_own else outcome


def _is_under_cleaning(marks: Sequence[StoredEvent], prior: LedgerEntry) -> bool:
    if is_cleaned(prior):
        return True
    return prior.status in ("ingested", "skipped") and any(names_content_of(mark, prior) for mark in marks)


def _decide(stored: StoredEvent, prior: LedgerEntry, new: Sequence[StoredEvent]) -> Decision | None:
    """What to do for an event that belongs to the cleaning; None for any other."""
    event = stored.event
    if is_cleaning(event):
        if not names_content_of(stored, prior):
            return Decision(stored, "skip", "superseded")
        return Decision(stored, "skip", "tagged" if event.event_name == TAGGED_EVENT else "cleaned")
    if event.kind == "removed":
        is_own = all(_is_before(stored, put) for put in new)
        return Decision(stored, "skip", "cleaned") if is_own else None
    if event.kind not in ("created", "restored") or is_request(event) or is_drop(event):
        return None
    is_known = names_content_of(stored, prior) and not is_new_content(stored, prior)
    # It cannot be read again, and need not be.
    return Decision(stored, "skip", "already_ingested") if is_known else None


def _is_before(removal: StoredEvent, put: StoredEvent) -> bool:
    if is_from_listing(removal) or is_from_listing(put):
        return removal.event.event_time < put.event.event_time
    return sort_key(removal) < sort_key(put)
