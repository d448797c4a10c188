"""Turns decisions into outcomes, quarantine items and counts: every object has one outcome. Pure."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from headwater.capture.quarantine_item import QuarantineItem, Resolved
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.ledger_entry import (
    ABSENT,
    CLEANED,
    CLEANED_REASONS,
    VANISHED,
    LedgerEntry,
    is_cleaned,
)
from headwater.ingest.planning.observation import is_from_listing, is_request
from headwater.ingest.planning.outcome import ObjectOutcome, OutcomeStatus, count_outcomes
from headwater.ingest.planning.window import OUTSIDE_WINDOW

QUARANTINED = frozenset({"quarantined", "missing", "unavailable"})


def to_skip(decision: Decision) -> ObjectOutcome:
    """Return the outcome of an object that was decided without reading it."""
    reason, stored = decision.reason or "", decision.stored
    status: OutcomeStatus = "superseded" if reason in ("superseded", "already_ingested") else "skipped"
    version, etag = stored.event.version, stored.event.etag or ""
    return ObjectOutcome(
        stored, status, reason, decision.detail, version=version, etag=etag, kept=decision.kept
    )


def settle_outcome(outcome: ObjectOutcome, cleaned: Collection[str], *, mirrors: bool) -> ObjectOutcome:
    """Return the table's outcome for the result of reading an object.

    A mirror removes an absent object. An object that `clean_source` may have deleted (`cleaned`: ids) may be
    absent. In other tables, a request for an object that does not exist changes nothing: the removal event,
    or a listing, reports the removal.
    """
    stored = outcome.stored
    is_absent = outcome.status == "missing"
    if (
        stored.event.object_id in cleaned
        and is_from_listing(stored)
        and (is_absent or outcome.reason == "forbidden")
    ):
        return ObjectOutcome(stored, "skipped", CLEANED)
    if is_absent and mirrors:
        cause = VANISHED if is_from_listing(stored) else ""
        cause = cause if stored.event.kind == "removed" and not is_request(stored.event) else ABSENT
        return ObjectOutcome(stored, "removed", cause, outcome.detail, looked=True)
    if is_absent and is_request(stored.event):
        return ObjectOutcome(stored, "superseded", "superseded")
    return outcome


def find_cleaned(decisions: Iterable[Decision], states: Mapping[str, LedgerEntry]) -> set[str]:
    """Return ids of the objects cleaned before the batch or by one of its events."""
    marked = {d.stored.event.object_id for d in decisions if d.reason in CLEANED_REASONS}
    return marked | {object_id for object_id, state in states.items() if is_cleaned(state)}


def reject_columnless(outcome: ObjectOutcome) -> ObjectOutcome:
    """Return the outcome of an object for which no column could be inferred."""
    if outcome.status != "ingested":
        return outcome
    detail = "no column could be inferred from its records; declare `schema:` for the table"
    return replace(outcome, status="quarantined", reason="unparsable", detail=detail, rows=0, bad_rows=0)


def recount(outcome: ObjectOutcome, good: int, bad: int, rejection: tuple[str, str]) -> ObjectOutcome:
    """Return the outcome of an ingested object of whose records so many are left after processing.

    `rejection` are reason and detail if all of them are bad.
    """
    if outcome.status != "ingested":
        return outcome
    if good:
        return replace(outcome, rows=good, bad_rows=bad)
    if not bad:
        return replace(outcome, status="skipped", reason="no_records", rows=0, bad_rows=0)
    reason, detail = rejection
    return replace(outcome, status="quarantined", reason=reason, detail=detail, rows=0, bad_rows=0)


def leave_out(outcome: ObjectOutcome, good: int, bad: int) -> ObjectOutcome:
    """Return the outcome of an ingested object without so many good and bad records of forgotten subjects.

    Without any other row, the object stays ingested: it was read, and nothing of it is missing.
    """
    if outcome.status != "ingested" or not (good or bad):
        return outcome
    what = "1 row of a forgotten subject was" if good == 1 else f"{good} rows of forgotten subjects were"
    detail = "; ".join(filter(None, (outcome.detail, f"{what} left out")))
    rows, bad_rows = outcome.rows - good, outcome.bad_rows - bad
    return replace(outcome, rows=rows, bad_rows=bad_rows, suppressed=good, detail=detail)


def apply_policy(outcome: ObjectOutcome, policy: Mapping[str, object]) -> ObjectOutcome:
    """Return the outcome according to the table's `on_bad_object` for its reason."""
    if outcome.status in ("quarantined", "missing") and policy.get(outcome.reason) == "skip":
        return replace(outcome, status="skipped")
    if outcome.reason == "empty_object" and policy["empty"] == "quarantine":
        return replace(outcome, status="quarantined", reason="empty", detail="the object has no bytes")
    return outcome


def quarantine_items(table: str, outcomes: Iterable[ObjectOutcome], now: datetime) -> list[QuarantineItem]:
    """Return one quarantine item for each object that was rejected as a whole."""
    return [
        QuarantineItem(
            level="object",
            stage="ingest",
            reason=outcome.reason,
            detail=outcome.detail or outcome.reason,
            quarantined_at=now,
            table=table,
            bucket=outcome.stored.event.bucket,
            key=outcome.stored.event.key,
            version=outcome.stored.event.version,
            event_id=outcome.stored.event_id,
            version_id=outcome.stored.event.version_id,
            event_time=outcome.stored.event.event_time,
        )
        for outcome in outcomes
        if outcome.status in QUARANTINED
    ]


def find_resolved(outcome: ObjectOutcome, state: LedgerEntry | None, *, mirrors: bool) -> Resolved | None:
    """Return the quarantined object that this outcome resolves; None if there is none.

    A request resolves its object: overwritten content, and content that is already in the table, will never
    be read; one that fails again has a new item. A mirror needs only the newest content of an object.
    """
    event = outcome.stored.event
    if outcome.status in QUARANTINED and not is_request(event):
        return None
    if mirrors:
        is_recovered = state is not None and state.status == "quarantined" and is_decided(outcome)
        return (event.bucket, event.key, None) if is_recovered or is_request(event) else None
    if not is_request(event):
        return None
    is_versioned = bool(outcome.version) and outcome.version != outcome.etag
    return (event.bucket, event.key, event.version_id or (outcome.version if is_versioned else None))


def is_decided(outcome: ObjectOutcome) -> bool:
    """True if the outcome determines the object stored under the key."""
    return outcome.status in ("ingested", "removed") or outcome.reason in ("empty_object", OUTSIDE_WINDOW)


def build_counts(outcomes: Sequence[ObjectOutcome]) -> dict[str, str]:
    """Count the objects of the batch; each is in exactly one count."""
    by_status, by_reason = count_outcomes(outcomes)
    suppressed = sum(outcome.suppressed for outcome in outcomes)
    return {
        **({"suppressed": str(suppressed)} if suppressed else {}),
        "objects": json.dumps(dict(by_status), sort_keys=True),
        "reasons": json.dumps(dict(by_reason), sort_keys=True),
        "rows": str(sum(outcome.rows for outcome in outcomes)),
        "bad_rows": str(sum(outcome.bad_rows for outcome in outcomes)),
        "quarantined": str(sum(by_status[status] for status in QUARANTINED)),
    }
