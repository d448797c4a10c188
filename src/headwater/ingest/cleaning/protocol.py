"""The cleaner seam: tag, move or delete one object of the source, if it is still the one decided on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from headwater.capture.listers.protocol import ListedObject

CleanResult = Literal["cleaned", "changed", "gone"]
"""Done; something else lies there by now, and was left alone; nothing lies there any more."""


@dataclass(frozen=True, slots=True)
class CleanTarget:
    """What to do: put these tags on, move to that place, or delete.

    `move_to` is `bucket/prefix/` of a bucket, or a folder; the key is appended to it as it is.
    """

    action: Literal["tag", "move", "delete"]
    move_to: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


class SourceCleaner(Protocol):
    """Acts on objects of one bucket or folder, one at a time. Used by one thread."""

    def clean(self, listed: ListedObject) -> CleanResult:
        """Do it, if etag and time of what lies there are those that were listed. Doing it again is harmless.

        Moving copies first, with metadata and tags, and deletes last. Tags of others stay. In a bucket with
        versions a deletion leaves a delete marker: no version is ever removed.

        Raises `ObjectError` when this object does not allow it (archived, ten tags already), and any other
        `HeadwaterError` when the next object would fare no better: rights, credentials, no answer.
        """
        ...

    def close(self) -> None:
        """Free connections."""
        ...
