"""From what the executors saw to outcomes, quarantine and ledger rows: every object has one answer."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.capture.object_event import name_version
from headwater.capture.quarantine_item import MAX_PAYLOAD_CHARS, QuarantineItem
from headwater.capture.quarantine_table import QUARANTINE_SCHEMA
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.ledger_entry import VANISHED, is_from_listing
from headwater.ingest.planning.outcome import ObjectOutcome, count_outcomes
from headwater.ingest.reading.bad_records import DETAILS as BAD_RECORD_DETAILS
from headwater.ingest.reading.object_reader import Request, SeenObject

QUARANTINED = frozenset({"quarantined", "missing", "unavailable"})


def to_outcome(request: Request, seen: SeenObject) -> ObjectOutcome:
    """One object's outcome from what the executors saw of it."""
    found, good, bad = seen.outcome, seen.good, seen.bad
    version = name_version(found["version_id"], found["etag"])
    status, reason, detail = found["status"], found["reason"] or "", found["detail"] or ""
    if status == "missing":
        reason = "missing"
    elif status == "unavailable":
        reason = reason or "unavailable"
    elif status == "superseded":
        reason = reason or "superseded"
    elif status == "read" and good == 0 and bad > 0:
        status, reason = "quarantined", "unparsable"
        detail = f"none of its {bad} records can become a row: they do not fit the columns, or have no key"
        bad = 0
    elif status == "read" and good == 0:
        status, reason = "skipped", "no_records"
    elif status == "read":
        status = "ingested"
    return ObjectOutcome(
        stored=request.stored,
        status=status,
        reason=reason,
        detail=detail,
        bytes=found["bytes"] or 0,
        rows=good,
        bad_rows=bad,
        version=version,
        etag=found["etag"] or "",
        looked=is_from_listing(request.stored)
        or (request.observed and version != request.stored.event.version),
    )


def to_skip(decision: Decision) -> ObjectOutcome:
    """An object that was decided without looking at it."""
    reason, stored = decision.reason or "", decision.stored
    if decision.action == "retract" and not reason:
        cause = VANISHED if is_from_listing(stored) else ""
        return ObjectOutcome(stored, "removed", cause, version=decision.version)
    status = "superseded" if reason in ("superseded", "already_ingested") else "skipped"
    version, etag = stored.event.version, stored.event.etag or ""
    looked = reason == "empty_object" and is_from_listing(stored)
    return ObjectOutcome(stored, status, reason, version=version, etag=etag, looked=looked)


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


def quarantine_frame(
    records: DataFrame, table: str, outcomes: Sequence[tuple[int, ObjectOutcome]], now: datetime
) -> DataFrame | None:
    """Rows for the bad records of objects that also have good ones; None when there are none.

    `records` has `object_index`, `row_number` and `corrupt`.
    """
    affected = [
        (at, outcome) for at, outcome in outcomes if outcome.status == "ingested" and outcome.bad_rows
    ]
    if not affected:
        return None
    objects = records.sparkSession.createDataFrame(
        [(at, o.stored.event.bucket, o.stored.event.key, o.version, o.stored.event_id) for at, o in affected],
        "object_index int, bucket string, key string, version string, event_id string",
    )
    bad = records.where(F.col("corrupt").isNotNull()).join(
        F.broadcast(objects), on="object_index", how="inner"
    )
    line = F.col("row_number").cast("string")
    filled = {
        "quarantine_id": _quarantine_id("record", "ingest", table, F.col("event_id"), line),
        "level": F.lit("record"),
        "stage": F.lit("ingest"),
        "reason": F.col("corrupt.reason"),
        "detail": F.concat_ws(" ", F.lit("line"), line, _explain(F.col("corrupt.reason"))),
        "quarantined_at": F.lit(now).cast("timestamp"),
        "table": F.lit(table),
        "line": F.col("row_number"),
        "payload": F.substring("corrupt.text", 1, MAX_PAYLOAD_CHARS),
    }
    kept = {"bucket", "key", "version", "event_id"}
    return bad.select(
        *(
            filled.get(f.name, F.col(f.name) if f.name in kept else F.lit(None))
            .cast(f.dataType)
            .alias(f.name)
            for f in QUARANTINE_SCHEMA
        )
    )


def _explain(reason: Column) -> Column:
    chosen = F.lit(None).cast("string")
    for name, detail in BAD_RECORD_DETAILS.items():
        chosen = F.when(reason == name, detail).otherwise(chosen)
    return chosen


def _quarantine_id(level: str, stage: str, table: str, event_id: Column, line: Column) -> Column:
    """The same text as `QuarantineItem.quarantine_id` builds."""
    parts = [F.lit(level), F.lit(stage), F.lit(table), event_id, F.lit("None"), line]
    pieces = [F.concat(F.length(part).cast("string"), F.lit(":"), part) for part in parts]
    return F.substring(F.sha2(F.concat(*pieces), 256), 1, 20)


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
