"""Objects that moved to another bucket or folder, with their previous identity in the lake."""

from dataclasses import replace

from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState, ObjectStore


class RelocatedStore:
    """Reads refs of bucket `known_as` from `location`, and other buckets unchanged."""

    def __init__(self, store: ObjectStore, known_as: str, location: str) -> None:
        self._store = store
        self._known_as = known_as
        self._location = location

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """See `ObjectStore.read`."""
        return self._store.read(self._locate(ref), max_bytes)

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """See `ObjectStore.state`."""
        return self._store.state(self._locate(ref))

    def uri(self, ref: ObjectRef) -> str:
        """See `ObjectStore.uri`: the current location."""
        return self._store.uri(self._locate(ref))

    def _locate(self, ref: ObjectRef) -> ObjectRef:
        return replace(ref, bucket=self._location) if ref.bucket == self._known_as else ref
