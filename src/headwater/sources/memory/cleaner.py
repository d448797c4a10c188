"""Tags, moves or deletes objects in this process."""

from headwater.sources.cleaner import CleanResult, CleanTarget
from headwater.sources.lister import ListedObject
from headwater.sources.memory.object_store import MemoryObjectStore
from headwater.sources.object_store import ObjectRef


class MemoryCleaner:
    """Cleans a bucket of a memory store; `tags` holds the added tags by key."""

    def __init__(self, store: MemoryObjectStore, bucket: str, target: CleanTarget) -> None:
        self._store = store
        self._bucket = bucket
        self._target = target
        self.tags: dict[str, dict[str, str]] = {}

    def clean(self, listed: ListedObject) -> CleanResult:
        """See `SourceCleaner.clean`."""
        ref = ObjectRef("memory", self._bucket, listed.key)
        state = self._store.state(ref)
        if state is None:
            return "gone"
        if (state.etag, state.last_modified) != (listed.etag, listed.last_modified):
            return "changed"
        if self._target.action == "tag":
            self.tags.setdefault(listed.key, {}).update(self._target.tags)
            return "cleaned"
        if self._target.action == "move":
            bucket, _, prefix = self._target.move_to.partition("/")
            self._store.put(bucket, prefix + listed.key, self._store.read(ref).data)
        self._store.remove(self._bucket, listed.key)
        return "cleaned"

    def close(self) -> None:
        """Do nothing."""
