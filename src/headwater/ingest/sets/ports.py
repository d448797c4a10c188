"""The ports of a table's sets to the source and to the lake."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.sets.progress import SetProgress
from headwater.sources.lister import ListedObject


class SetSource(Protocol):
    """What decides about a set: the files of its folder, its manifest, and their events."""

    def list_files(self, name: str) -> Iterator[ListedObject]:
        """Yield the files whose keys begin with the name of a set, in order. Raises `SourceError`."""
        ...

    def read_manifest(self, found: ListedObject) -> bytes:
        """Return the contents of a file, in the listed state. Raises `SourceError`."""
        ...

    def find_events(self, event_ids: Collection[str]) -> Mapping[str, StoredEvent]:
        """Return events by id. Raises `LakeError`."""
        ...

    def load_progress(self) -> SetProgress:
        """Return the progress in the table's newest commit. Raises `LakeError`."""
        ...
