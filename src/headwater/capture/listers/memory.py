"""Objects in this process, as a lister: for a bucket that exists only here."""

from collections.abc import Iterable, Iterator

from headwater.capture.listers.protocol import ListedObject


class MemoryLister:
    """Lists what was put. A listing that has begun shows the objects of then."""

    def __init__(self, objects: Iterable[ListedObject] = ()) -> None:
        self._objects = {listed.key: listed for listed in objects}

    def put(self, listed: ListedObject) -> None:
        """Add an object, or replace the one under its key."""
        self._objects[listed.key] = listed

    def remove(self, key: str) -> None:
        """Take an object away; none is fine."""
        self._objects.pop(key, None)

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister.iter_objects`."""
        objects = dict(self._objects)
        keys = sorted(key for key in objects if key.startswith(prefix) and key > start_after)
        return (objects[key] for key in keys)
