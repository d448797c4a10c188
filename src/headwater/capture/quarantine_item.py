"""`QuarantineItem`: a message, object or record that could not be used. Pure; one quarantine row."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

QuarantineLevel = Literal["message", "object", "record"]
Stage = Literal["capture", "ingest"]

MAX_PAYLOAD_CHARS = 100_000

Resolved = tuple[str, str, str | None]
"""Bucket, key and version of an object that needs no further attempt; None for all its versions."""


@dataclass(frozen=True, slots=True)
class QuarantineItem:
    """What could not be used, why, and where its bytes are.

    `table` is the data table for objects and records. `line` is 1-based. `payload` holds the text
    itself (cut at `MAX_PAYLOAD_CHARS`) when it is not simply the object. `record_index` is the
    0-based index of a bad record inside a message. `version` is the version id or the etag; an object has a
    `version_id` only where the bucket has versions. `event_time` is that of the event that named the object.
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
        """The same bad thing has the same id, so that a batch done again adds nothing."""
        where = self.event_id or self.message_id or ""
        parts = (self.level, self.stage, self.table or "", where, str(self.record_index), str(self.line))
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
