"""`ObjectEvent`: something happened to one object. Pure; the word both halves of the product share."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

EventKind = Literal["created", "removed", "restored", "tagged", "other"]

ORDER_KEY_WIDTH = 64


def build_order_key(sequencer: str | None) -> str | None:
    """Make sequencers of different lengths comparable as text.

    S3 documents: right-pad the shorter one with zeros, then compare lexicographically, and only
    within one key. https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
    """
    return sequencer.lower().ljust(ORDER_KEY_WIDTH, "0") if sequencer else None


@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """One event of one object, the same for every sender's notification format.

    `event_time` is aware, UTC. `size` is in bytes. `sequencer` is as sent; `order_key` is what
    orders the events of one object. `raw` is the record's JSON text as received.
    """

    provider: str
    bucket: str
    key: str
    version_id: str | None
    sequencer: str | None
    order_key: str | None
    kind: EventKind
    event_name: str
    event_time: datetime
    size: int | None
    etag: str | None
    raw: str = ""

    @property
    def event_id(self) -> str:
        """Identity of the event: redelivery has the same id.

        Senders without a sequencer (moto, some S3-compatible stores) are told apart by event time
        and etag instead, so that two writes of one key stay two events.
        """
        when = self.order_key or f"{self.event_time.isoformat()}|{self.etag or ''}"
        parts = (self.provider, self.bucket, self.key, self.version_id or "", when, self.kind)
        # Length prefixes: no choice of key can collide with another field's text.
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @property
    def object_id(self) -> str:
        """Identity of the object (provider, bucket, key), whatever its version."""
        text = "".join(f"{len(p)}:{p}" for p in (self.provider, self.bucket, self.key))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
