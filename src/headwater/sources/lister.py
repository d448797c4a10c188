"""The lister seam: the current objects of a bucket or folder."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

UnusableReason = Literal["bad_name", "unreadable_folder", "link_leads_out", "link_loop", "not_captured"]


@dataclass(frozen=True, slots=True)
class ListedObject:
    """One object as listed. `key` is decoded; `size` in bytes; `last_modified` aware, UTC."""

    key: str
    size: int
    etag: str
    version_id: str | None
    last_modified: datetime


@dataclass(frozen=True, slots=True)
class UnusablePath:
    """A path in the folder, or messages of a topic, that are not listed.

    `key` may hold surrogates for bytes that are not UTF-8; the key of a folder ends in a slash.
    """

    key: str
    reason: UnusableReason
    detail: str


class Lister(Protocol):
    """Enumerates the newest state of all objects of one bucket or folder."""

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """Yield objects whose keys start with `prefix` and are greater than `start_after`.

        Ordered by the keys' UTF-8 bytes, which for text is Python's own order. `start_after` need not be an
        existing key. Lazy: memory does not grow with the number of objects. An iterator that ends is
        complete; a truncated one raises.

        Raises `SourceError` if the bucket or folder cannot be listed.
        """
        ...
