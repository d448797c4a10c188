"""The contract of what is known of a table in another format without a JVM."""

from collections.abc import Sequence
from typing import Protocol

from headwater.lake.other_formats.history import VersionTime


class VersionReader(Protocol):
    """Lists the versions of one table without a JVM. All methods raise `LakeError`."""

    def exists(self) -> bool:
        """True if a table exists at the address."""
        ...

    def list_versions(self) -> Sequence[str]:
        """Return the versions in the current history, oldest first; empty before the first commit."""
        ...

    def find_time(self, version: str) -> VersionTime:
        """Return when a version was committed."""
        ...
