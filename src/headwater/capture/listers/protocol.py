"""The lister seam: what lies in a bucket or folder now."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ListedObject:
    """One object as a listing shows it. `key` is decoded; `size` in bytes; `last_modified` aware, UTC."""

    key: str
    size: int
    etag: str
    version_id: str | None
    last_modified: datetime


class Lister(Protocol):
    """Enumerates the newest state of all objects of one bucket or folder."""

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """Objects whose keys start with `prefix` and are greater than `start_after`.

        In the order of their keys by UTF-8 bytes, which for text is Python's own. `start_after` need not
        be a key that exists. Lazy: memory does not grow with the number of objects. An iterator that
        ends has shown everything; one that was cut short raises.

        Raises `SourceError` when the bucket or folder cannot be listed.
        """
        ...
