"""Compares a backup's lists with what is stored. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.app.backup.manifest import BackupFile
from headwater.errors import LakeError

_NAMED = 3


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file of a backup that is missing (`found` is None), or has another size in bytes."""

    file: BackupFile
    found: int | None

    def describe(self) -> str:
        """Return the difference as one line."""
        if self.found is None:
            return f"{self.file.stored} is missing"
        return f"{self.file.stored} has {self.found:,} bytes instead of {self.file.size:,}"


def compare_backup(files: Iterable[BackupFile], sizes: Mapping[str, int]) -> list[BadFile]:
    """Return files that are missing or have another size; `sizes` are those stored, by path."""
    return [BadFile(file, sizes.get(file.stored)) for file in files if sizes.get(file.stored) != file.size]


def build_incomplete_error(where: str, bad: list[BadFile]) -> LakeError:
    """Build the error that names the first files, and counts the others."""
    named = "; ".join(one.describe() for one in bad[:_NAMED])
    more = f"; and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
    return LakeError(
        f"the backup {where} is incomplete: {named}{more}",
        hint="nothing was written. Recover these files there, for example from older versions of the "
        "objects, or use another backup",
    )
