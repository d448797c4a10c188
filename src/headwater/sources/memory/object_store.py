"""Objects in this process, with versions. For experiments and tests; lost when the process ends."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from headwater.errors import ObjectMissingError, ObjectSupersededError, ObjectTooLargeError
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState

if TYPE_CHECKING:
    from headwater.sources.object_store import ObjectStoreConfig


@dataclass
class MemoryObjectStore:
    """Every key keeps all its versions; a removal adds a delete marker (None) on top, as S3 does."""

    _versions: dict[tuple[str, str], list[ObjectContent | None]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def put(self, bucket: str, key: str, data: bytes) -> ObjectState:
        """Write a new version and return its state."""
        with self._lock:
            versions = self._versions.setdefault((bucket, key), [])
            etag = hashlib.md5(data, usedforsecurity=False).hexdigest()
            state = ObjectState(etag, f"v{len(versions) + 1}", len(data), datetime.now(timezone.utc))
            versions.append(ObjectContent(data, state))
        return state

    def remove(self, bucket: str, key: str) -> None:
        """Remove the object; its versions can still be read by their ids."""
        with self._lock:
            self._versions.setdefault((bucket, key), []).append(None)

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """See `ObjectStore.read`."""
        with self._lock:
            versions = list(self._versions.get((ref.bucket, ref.key), ()))
        if ref.version_id is None:
            found = versions[-1] if versions else None
        else:
            found = next((v for v in versions if v and v.state.version_id == ref.version_id), None)
        if found is None:
            version = f", version {ref.version_id}" if ref.version_id else ""
            raise ObjectMissingError(f"{self.uri(ref)}{version} does not exist")
        if ref.version_id is None and ref.etag is not None and ref.etag != found.state.etag:
            raise ObjectSupersededError(f"{self.uri(ref)} no longer has etag {ref.etag}")
        if max_bytes is not None and found.state.size > max_bytes:
            raise ObjectTooLargeError(
                f"{self.uri(ref)} has {found.state.size} bytes; the limit is {max_bytes}"
            )
        return found

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """See `ObjectStore.state`."""
        with self._lock:
            versions = self._versions.get((ref.bucket, ref.key), [])
            found = versions[-1] if versions else None
        return found.state if found else None

    def uri(self, ref: ObjectRef) -> str:
        """Return `memory://bucket/key`."""
        return f"memory://{ref.bucket}/{ref.key}"


@cache
def load_memory_store(name: str = "default") -> MemoryObjectStore:  # noqa: ARG001 - the cache's key
    """Return the process's store of that name, as `ObjectStoreConfig(kind="memory", name=...)` does."""
    return MemoryObjectStore()


def build_memory_store(config: "ObjectStoreConfig") -> MemoryObjectStore:
    """Return the store named by `config.name`."""
    return load_memory_store(config.name)
