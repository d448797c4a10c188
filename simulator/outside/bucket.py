"""A bucket with or without versioning, its notifications, and the store that reads it."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import quote_plus

from headwater.errors import ObjectMissingError, ObjectSupersededError, ObjectUnavailableError
from headwater.sources.lister import ListedObject
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState
from simulator.outside.clock import SimulatedClock

BUCKET = "landing"
Versioning = Literal["off", "on"]
Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class Version:
    """One write; `data` None is a delete marker. `order` is its number among all writes to the bucket."""

    version_id: str | None
    data: bytes | None
    etag: str
    at: datetime
    order: int

    def to_state(self) -> ObjectState:
        assert self.data is not None
        return ObjectState(self.etag, self.version_id, len(self.data), self.at)


class Bucket:
    """Returns for each write the record that S3 would send, with the key encoded as S3 does."""

    def __init__(self, versioning: Versioning, clock: SimulatedClock) -> None:
        self.versioning = versioning
        # Whether two writes of one key are at least a second apart.
        self.writes_apart = False
        self._clock = clock
        self._objects: dict[str, list[Version]] = {}
        self._orders: dict[tuple[str, str], int] = {}
        self._writes = 0
        self.written: dict[str, list[Version]] = {}
        # Keys with a version that was deleted for good.
        self.thinned: set[str] = set()
        # Objects that `clean_source` may have deleted: their rows stay until a new put.
        self.cleaned: dict[str, Version] = {}
        # Deleted externally just before the announcement: the deletion cannot be attributed.
        self.unsure: set[str] = set()
        self.ever_unsure: set[str] = set()
        self.ever_cleaned: set[str] = set()

    def put(self, key: str, data: bytes, salt: int = 0) -> Record:
        self._writes += 1
        etag = hashlib.md5(data).hexdigest()
        earlier = self.written.get(key, ())
        if earlier and (self.writes_apart or any(version.etag == etag for version in earlier)):
            # A listing cannot distinguish two writes of the same content within a second.
            self._clock.advance(1)
        version_id = f"v{self._writes}" if self.versioning == "on" else None
        version = Version(version_id, data, etag, self._clock.next_moment(), self._writes)
        self._add(key, version)
        self.written.setdefault(key, []).append(version)
        self.cleaned.pop(key, None)
        self.unsure.discard(key)
        name = ("Put", "CompleteMultipartUpload", "Copy", "Post")[salt % 4]
        return self._build_record(key, f"ObjectCreated:{name}", version, salt)

    def remove(self, key: str, salt: int = 0) -> Record:
        """Deletes the current object; S3 sends a notification even if there was none."""
        self._writes += 1
        marker = f"m{self._writes}" if self.versioning == "on" else None
        version = Version(marker, None, "", self._clock.next_moment(), self._writes)
        if marker:
            self._add(key, version)
        else:
            self._objects.pop(key, None)
        family = "LifecycleExpiration" if salt % 3 == 2 else "ObjectRemoved"
        what = "DeleteMarkerCreated" if marker else "Delete"
        return self._build_record(key, f"{family}:{what}", version, salt)

    def remove_version(self, key: str, index: int, salt: int = 0) -> Record | None:
        """Deletes one version or delete marker for good; returns None if there is none."""
        versions = self._objects.get(key)
        if self.versioning == "off" or not versions:
            return None
        self._writes += 1
        gone = versions.pop(index % len(versions))
        self.thinned.add(key)
        version = Version(gone.version_id, None, "", self._clock.next_moment(), self._writes)
        family = "LifecycleExpiration" if salt % 3 == 2 else "ObjectRemoved"
        return self._build_record(key, f"{family}:Delete", version, salt)

    def tag(self, key: str) -> Record | None:
        """Changes the tags; the record has no sequencer, as with S3."""
        live = self.find_live(key)
        return None if live is None else self._build_record(key, "ObjectTagging:Put", live, None)

    def _add(self, key: str, version: Version) -> None:
        if self.versioning == "on":
            self._objects.setdefault(key, []).append(version)
        else:
            self._objects[key] = [version]

    @property
    def writes(self) -> int:
        """Returns the number of writes so far."""
        return self._writes

    def list_orders(self, key: str) -> list[int]:
        """Lists the numbers of all writes to the key."""
        return [order for (k, _), order in self._orders.items() if k == key]

    def find_last_write(self, key: str) -> int:
        """Returns the number of the last write to the key, or 0."""
        return max((order for (k, _), order in self._orders.items() if k == key), default=0)

    def find_live(self, key: str) -> Version | None:
        versions = self._objects.get(key)
        return versions[-1] if versions and versions[-1].data is not None else None

    def find_version(self, key: str, version_id: str) -> Version | None:
        found = (v for v in self._objects.get(key, ()) if v.version_id == version_id and v.data is not None)
        return next(found, None)

    def list_live(self) -> dict[str, Version]:
        """Lists the current versions by key, as a listing does."""
        live = ((key, self.find_live(key)) for key in sorted(self._objects))
        return {key: version for key, version in live if version is not None}

    def note_cleaned(self, key: str, order: int) -> None:
        """Records that cleaning the content of this write was announced."""
        self.ever_cleaned.add(key)
        last = self.written[key][-1]
        if last.order != order:
            return
        live = self.find_live(key)
        if live is not None and live.order == order:
            self.cleaned[key] = last
        else:
            self.unsure.add(key)
            self.ever_unsure.add(key)

    def list_expected(self) -> dict[str, Version]:
        """Lists what tables must hold, by key: current objects and cleaned ones."""
        return {**self.cleaned, **self.list_live()}

    def list_objects(self) -> list[ListedObject]:
        """Lists objects as ListObjectsV2 does: without version ids, with times to the second."""
        return [
            ListedObject(key, len(v.data or b""), v.etag, None, v.at.replace(microsecond=0))
            for key, v in self.list_live().items()
        ]

    def find_order(self, key: str, sequencer: str | None) -> int | None:
        """Finds the write of an event from its sent values: the true order that order keys must reproduce."""
        return self._orders.get((key, sequencer)) if sequencer else None

    def _build_record(self, key: str, name: str, version: Version, salt: int | None) -> Record:
        stored: dict[str, object] = {"key": quote_plus(key, safe="/")}
        if salt is not None:
            stored["sequencer"] = sequencer = _build_sequencer(self._writes, salt)
            self._orders[key, sequencer] = self._writes
        if version.version_id:
            stored["versionId"] = version.version_id
        if version.data is not None:
            stored |= {"size": len(version.data), "eTag": version.etag}
        time = version.at if salt is not None else self._clock.next_moment()
        return {
            "eventVersion": "2.1",
            "eventSource": "aws:s3",
            "eventTime": f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z",
            "eventName": name,
            "s3": {"bucket": {"name": BUCKET}, "object": stored},
        }


def _build_sequencer(number: int, salt: int) -> str:
    """Builds a lower-case sequencer that sorts by `number` only if right-padded with zeros, as in S3."""
    text = f"{number:05x}" + f"{salt * 2654435761:x}"[: salt % 7]
    text = text.rstrip("0")
    return text.upper() if salt % 2 else text


class BucketStore:
    """Reads the bucket with the responses of S3; other writes may happen between any two requests."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._races: list[Callable[[], None]] = []
        self.on_read: Callable[[str], None] = lambda _key: None
        self.outage = 0
        self.counts: Counter[str] = Counter()

    def add_race(self, write: Callable[[], None]) -> None:
        """Adds a write that happens just before the next request."""
        self._races.append(write)

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        del max_bytes  # all objects are small
        self._begin()
        if ref.version_id:
            found = self._bucket.find_version(ref.key, ref.version_id)
        else:
            if ref.etag is None:
                self.on_read(ref.key)
            found = self._bucket.find_live(ref.key)
        if found is None or found.data is None:
            self.counts["404"] += 1
            raise ObjectMissingError(f"{self.uri(ref)} does not exist")
        if not ref.version_id and ref.etag is not None and ref.etag != found.etag:
            self.counts["412"] += 1
            raise ObjectSupersededError(f"{self.uri(ref)} has another etag")
        return ObjectContent(found.data, found.to_state())

    def state(self, ref: ObjectRef) -> ObjectState | None:
        self._begin()
        self.on_read(ref.key)
        found = self._bucket.find_live(ref.key)
        return found.to_state() if found else None

    def uri(self, ref: ObjectRef) -> str:
        return f"s3://{ref.bucket}/{ref.key}"

    def _begin(self) -> None:
        if self._races:
            self.counts["races"] += 1
            self._races.pop(0)()
        if self.outage:
            self.outage -= 1
            self.counts["unavailable"] += 1
            raise ObjectUnavailableError("the store does not answer")

    def calm(self) -> None:
        """Drops all pending races."""
        self._races.clear()
        self.outage = 0
