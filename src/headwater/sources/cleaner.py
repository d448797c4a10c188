"""The cleaner seam: tag, move or delete one object of the source if it is unchanged since the decision."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from headwater.sources.lister import ListedObject

CleanResult = Literal["cleaned", "changed", "gone"]
"""Done; replaced by another object, which is unchanged; already absent."""


@dataclass(frozen=True, slots=True)
class CleanTarget:
    """The action: add these tags, move to that location, or delete.

    `move_to` is `bucket/prefix/` of a bucket, or a folder; the unchanged key is appended to it.
    """

    action: Literal["tag", "move", "delete"]
    move_to: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


class SourceCleaner(Protocol):
    """Cleans objects of one bucket or folder, one at a time. Used by one thread."""

    def clean(self, listed: ListedObject) -> CleanResult:
        """Clean the object if its current etag and time equal the listed ones. Idempotent.

        Moving copies first, with metadata and tags, and deletes last. Tags of other owners stay. In a
        versioned bucket a deletion leaves a delete marker: no version is ever removed.

        Raises `ObjectError` if this object does not allow it (archived, ten tags already). Raises other
        `HeadwaterError`s if the next object would fail, too: rights, credentials, no response.
        """
        ...

    def close(self) -> None:
        """Close connections."""
        ...
