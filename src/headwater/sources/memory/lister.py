"""A lister for objects in this process, for a bucket that exists only here."""

from collections.abc import Iterable, Iterator

from headwater.sources.lister import ListedObject


class MemoryLister:
    """Lists the objects put. A listing is a snapshot of its start."""

    def __init__(self, objects: Iterable[ListedObject] = ()) -> None:
        self._objects = {listed.key: listed for listed in objects}

    def put(self, listed: ListedObject) -> None:
        """Add an object, or replace the one under its key."""
        self._objects[listed.key] = listed

    def remove(self, key: str) -> None:
        """Remove an object if it exists."""
        self._objects.pop(key, None)

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister.iter_objects`."""
        objects = dict(self._objects)
        keys = sorted(key for key in objects if key.startswith(prefix) and key > start_after)
        return (objects[key] for key in keys)
