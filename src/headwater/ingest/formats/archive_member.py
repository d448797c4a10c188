"""A file of an archive, as each kind of archive lists it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO


class MemberTooLargeError(Exception):
    """Raised before a file is decompressed whose stated size exceeds what is left of the limit."""


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file of an archive.

    `open` may raise any error of the library that reads the archive, and MemberTooLargeError.
    """

    name: str
    open: Callable[[], IO[bytes] | None]
    is_encrypted: bool = False
