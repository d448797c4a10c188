"""`ListedSets`: the files of a table's sets in the source, and its progress in its commits."""

from collections.abc import Callable, Collection, Iterator, Mapping

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.plan import Location
from headwater.ingest.sets.manifest import MAX_MANIFEST_BYTES
from headwater.ingest.sets.progress import SetProgress
from headwater.sources.lister import ListedObject
from headwater.sources.object_store import ObjectRef, ObjectStore
from headwater.sources.source import Source

FindEvents = Callable[[Collection[str]], Mapping[str, StoredEvent]]


class ListedSets:
    """See `SetSource`. `location` is that of the source in the lake."""

    def __init__(
        self,
        source: Source,
        store: ObjectStore,
        location: Location,
        find_events: FindEvents,
        load_progress: Callable[[], SetProgress],
    ) -> None:
        self._source = source
        self._store = store
        self._location = location
        self._find_events = find_events
        self._load_progress = load_progress

    def list_files(self, name: str) -> Iterator[ListedObject]:
        """See `SetSource`."""
        with self._source.open_lister(lambda: None) as lister:
            yield from lister.iter_objects(name)

    def read_manifest(self, found: ListedObject) -> bytes:
        """See `SetSource`."""
        location = self._location
        ref = ObjectRef(location.provider, location.bucket, found.key, etag=found.etag, size=found.size)
        return self._store.read(ref, MAX_MANIFEST_BYTES).data

    def find_events(self, event_ids: Collection[str]) -> Mapping[str, StoredEvent]:
        """See `SetSource`."""
        return self._find_events(event_ids)

    def load_progress(self) -> SetProgress:
        """See `SetSource`."""
        return self._load_progress()
