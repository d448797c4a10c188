"""From decisions to outcomes, quarantine items and counts: every object has one answer. Pure."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from headwater.capture.quarantine_item import QuarantineItem
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.ledger_entry import VANISHED
from headwater.ingest.planning.order import is_from_listing
from headwater.ingest.planning.outcome import ObjectOutcome, count_outcomes

QUARANTINED = frozenset({"quarantined", "missing", "unavailable"})


def to_skip(decision: Decision) -> ObjectOutcome:
    """An object that was decided without looking at it."""
    reason, stored = decision.reason or "", decision.stored
    if decision.action == "retract" and not reason:
        cause = VANISHED if is_from_listing(stored) else ""
        return ObjectOutcome(stored, "removed", cause, version=decision.version)
    status = "superseded" if reason in ("superseded", "already_ingested") else "skipped"
    version, etag = stored.event.version, stored.event.etag or ""
    looked = reason == "empty_object" and is_from_listing(stored)
    # A listing that names content by its etag does not know the version.
    kept = 0 if is_from_listing(stored) else decision.kept
    return ObjectOutcome(stored, status, reason, version=version, etag=etag, looked=looked, kept=kept)


def reject_columnless(outcome: ObjectOutcome) -> ObjectOutcome:
    """The outcome of an object of which no column could be inferred."""
    if outcome.status != "ingested":
        return outcome
    detail = "no column could be inferred from its records; declare `schema:` for the table"
    return replace(outcome, status="quarantined", reason="unparsable", detail=detail, rows=0, bad_rows=0)


def quarantine_items(table: str, outcomes: Iterable[ObjectOutcome], now: datetime) -> list[QuarantineItem]:
    """One item for each object that could not be used at all."""
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
        )
        for outcome in outcomes
        if outcome.status in QUARANTINED
    ]


def build_counts(outcomes: Sequence[ObjectOutcome]) -> dict[str, str]:
    """Every object of the batch is in exactly one of these counts."""
    by_status, by_reason = count_outcomes(outcomes)
    return {
        "objects": json.dumps(dict(by_status), sort_keys=True),
        "reasons": json.dumps(dict(by_reason), sort_keys=True),
        "rows": str(sum(outcome.rows for outcome in outcomes)),
        "bad_rows": str(sum(outcome.bad_rows for outcome in outcomes)),
        "quarantined": str(sum(by_status[status] for status in QUARANTINED)),
    }
