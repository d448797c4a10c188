"""Delta's log as files: versions by file names, and times of commits. Without a JVM."""

import json
import re
from collections.abc import Collection
from datetime import datetime, timezone

from headwater.errors import TableNotFoundError
from headwater.lake.other_formats.history import VersionTime
from headwater.lake.table_files import TableFiles

LOG_FOLDER = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..+")


def parse_versions(names: Collection[str]) -> tuple[str, ...]:
    """Return the versions that can be read with the files of a log, oldest first.

    A version is made of a checkpoint, or nothing, and all commits since then.
    """
    found = sorted(int(match[1]) for name in names if (match := _COMMIT.fullmatch(name)))
    start = next((at for at in range(len(found) - 1, 0, -1) if found[at] - found[at - 1] > 1), 0)
    found = found[start:]
    if found and found[0] > 0:
        checkpoints = (int(match[1]) for name in names if (match := _CHECKPOINT.fullmatch(name)))
        first = min((version for version in checkpoints if version >= found[0] - 1), default=found[-1] + 1)
        found = [version for version in found if version >= first]
    return tuple(map(str, found))


def build_absence(path: str) -> TableNotFoundError:
    """Build the error for an address without a Delta table."""
    return TableNotFoundError(
        f"there is no Delta table at {path}",
        hint="correct `from: {delta: ...}`: the address of the folder that contains `_delta_log`",
    )


class DeltaVersions:
    """`VersionReader` of a Delta table."""

    def __init__(self, path: str, files: TableFiles) -> None:
        self._path = path
        self._files = files

    def exists(self) -> bool:
        """See `VersionReader.exists`."""
        return bool(self.list_versions())

    def list_versions(self) -> tuple[str, ...]:
        """See `VersionReader.list_versions`."""
        return parse_versions(self._files.list_sizes(LOG_FOLDER))

    def find_time(self, version: str) -> VersionTime:
        """See `VersionReader.find_time`."""
        commit = self._files.read(f"{LOG_FOLDER}/{int(version):020}.json")
        # Most programs write the action first, and some do not write it.
        for line in commit.splitlines():
            if b'"commitInfo"' in line and "commitInfo" in (action := json.loads(line)):
                milliseconds = action["commitInfo"].get("timestamp")
                if milliseconds is not None:
                    return VersionTime(version, datetime.fromtimestamp(milliseconds / 1000, timezone.utc))
        return VersionTime(version, None)
