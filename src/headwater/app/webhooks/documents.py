"""The documents that webhooks send: pure functions of what happened."""

import json
import uuid
from dataclasses import dataclass
from typing import Literal

from headwater.app.components import BatchNote
from headwater.capture.consumer import CommitReport

Event = Literal["commit", "quarantine"]


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document about an event. `id` is the same in each attempt to deliver it."""

    event: Event
    id: str
    body: bytes


def build_commit(batch: BatchNote, lake: str) -> Document | None:
    """Return the document of a batch that changed its table, else None."""
    result = batch.result
    if result is None or not result.committed:
        return None
    return _build(
        "commit",
        lake=lake,
        table=batch.table,
        at=batch.ended.isoformat(),
        rows=result.rows,
        deleted=result.deleted,
        objects=result.objects["ingested"],
        bytes=result.bytes,
        seconds=round(result.seconds, 3),
    )


def build_quarantine(batch: BatchNote, lake: str) -> Document | None:
    """Return the document of a batch with quarantined objects or records, else None."""
    result = batch.result
    if result is None or not (result.objects["quarantined"] or result.bad_rows):
        return None
    return _build(
        "quarantine",
        lake=lake,
        table=batch.table,
        at=batch.ended.isoformat(),
        messages=0,
        objects=result.objects["quarantined"],
        records=result.bad_rows,
    )


def build_capture_quarantine(report: CommitReport, lake: str, at: str) -> Document | None:
    """Return the document of a batch of messages some of which were quarantined, else None."""
    if not report.quarantined:
        return None
    return _build(
        "quarantine", lake=lake, table=None, at=at, messages=report.quarantined, objects=0, records=0
    )


def _build(event: Event, **content: object) -> Document:
    name = uuid.uuid4().hex
    return Document(event, name, json.dumps({"event": event, "id": name, **content}).encode())
