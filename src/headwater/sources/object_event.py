"""`ObjectEvent`: an event of one object. Pure; shared by capture and ingest."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Literal

EventKind = Literal["created", "removed", "restored", "tagged", "folder", "other"]

ORDER_KEY_WIDTH = 64

# A file's modification time and size, and a digest if another content had the same.
_DIGEST = re.compile(r"^([^-]+-[^-]+)-[^-]+$")


def build_order_key(sequencer: str | None) -> str | None:
    """Convert sequencers of different lengths to comparable text.

    S3 documents: right-pad the shorter one with zeros, then compare lexicographically, and only
    within one key. https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
    """
    return sequencer.lower().ljust(ORDER_KEY_WIDTH, "0") if sequencer else None


@dataclass(frozen=True)
class ObjectEvent:
    """One event of one object, independent of the sender's notification format.

    `event_time` is aware, UTC. `size` is in bytes. `sequencer` is as sent, or names the listing that
    observed the object; `order_key` orders the events of one object. Kind `folder`: the objects below `key`
    were renamed or removed together, without events of their own. `raw` is the record's JSON text as
    received.
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

    @cached_property
    def event_id(self) -> str:
        """Return the identity of the event: redelivery has the same id.

        Events without an order (tags, ACLs; all of moto's) are distinguished by event time, name and etag.
        So two writes of one key, or tags added and removed, stay two events. Observations of two listings are
        two events: the object may have been absent in between.
        """
        if self.order_key:
            moment = (self.order_key, "", "", "")
        else:
            # In UTC: a time read back from a table may be in the session's zone.
            time = self.event_time.astimezone(timezone.utc).isoformat()
            moment = (self.sequencer or "", time, self.event_name, self.etag or "")
        return _digest(self.provider, self.bucket, self.key, self.version_id or "", *moment, self.kind)

    @property
    def version(self) -> str:
        """Return the identity of the content under the key: version id, else etag; empty for neither."""
        return name_version(self.version_id, self.etag)

    @cached_property
    def object_id(self) -> str:
        """Return the identity of the object (provider, bucket, key), whatever its version."""
        return build_object_id(self.provider, self.bucket, self.key)


def build_object_id(provider: str, bucket: str, key: str) -> str:
    """Return the identity of an object, whatever its version."""
    return _digest(provider, bucket, key)


def name_version(version_id: str | None, etag: str | None) -> str:
    """Return the version id, else the etag. The version id is `null` while versioning is suspended."""
    return (version_id if version_id != "null" else "") or etag or ""


def strip_digest(provider: str, version: str) -> str:
    """Return the version of a file without its digest, which not every event of the content has."""
    return _DIGEST.sub(r"\1", version) if provider == "local" else version


def is_same_etag(known: str | None, listed: str | None) -> bool:
    """Whether a listing's etag may be of the content with the known one, which may have a suffix.

    Two files can have the same modification time and size; the etag of the later one ends in its digest,
    which no listing computes.
    """
    return known == listed or bool(known and listed and known.startswith(f"{listed}-"))


def _digest(*parts: str) -> str:
    # Length prefixes: no choice of key can collide with another field's text.
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
