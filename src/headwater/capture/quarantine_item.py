"""`QuarantineItem`: an unusable message, object or record. Pure; one quarantine row."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

QuarantineLevel = Literal["message", "object", "record"]
Stage = Literal["capture", "ingest"]

MAX_PAYLOAD_CHARS = 100_000

Resolved = tuple[str, str, str | None]
"""Bucket, key and version of an object that needs no further attempt; version None means all."""


@dataclass(frozen=True, slots=True)
class QuarantineItem:
    """An unusable item, the reason, and the location of its bytes.

    `table` is the data table for objects and records. `line` is 1-based. `payload` holds the text
    (truncated to `MAX_PAYLOAD_CHARS`) unless it is the whole object. `record_index` is the 0-based index of a
    bad record in a message. `version` is the version id or the etag; an object has a `version_id` only in a
    versioned bucket. `event_time` is that of the event that named the object.
    """

    level: QuarantineLevel
    stage: Stage
    reason: str
    detail: str
    quarantined_at: datetime
    table: str | None = None
    bucket: str | None = None
    key: str | None = None
    version: str | None = None
    event_id: str | None = None
    message_id: str | None = None
    record_index: int | None = None
    line: int | None = None
    payload: str | None = None
    version_id: str | None = None
    event_time: datetime | None = None

    @property
    def quarantine_id(self) -> str:
        """Return the same id for the same item, so that a repeated batch adds no row."""
        where = self.event_id or self.message_id or ""
        parts = (self.level, self.stage, self.table or "", where, str(self.record_index), str(self.line))
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
