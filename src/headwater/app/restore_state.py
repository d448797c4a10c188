"""The record of a restore in a lake: until it is complete, nothing else may use the lake."""

import json
from dataclasses import dataclass
from datetime import datetime

from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, LakeError
from headwater.lake.file_store import FileStore
from headwater.lake.layout import restore_path
from headwater.lake.storage_options import build_storage_options

RESTORE_FILE = restore_path("").lstrip("/")
"""Relative to the lake."""


@dataclass(frozen=True, slots=True)
class RestoreState:
    """A restore from `source`; `finished_at` is None until it is complete."""

    source: str
    started_at: datetime
    finished_at: datetime | None = None

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        finished = self.finished_at.isoformat() if self.finished_at else None
        fields = {"source": self.source, "started_at": self.started_at.isoformat(), "finished_at": finished}
        return json.dumps(fields).encode()


def parse_restore_state(content: bytes) -> RestoreState:
    """Parse the content of the file. Raises `ValueError` and `KeyError`."""
    fields = json.loads(content)
    finished = fields["finished_at"]
    return RestoreState(
        fields["source"],
        datetime.fromisoformat(fields["started_at"]),
        datetime.fromisoformat(finished) if finished else None,
    )


def open_lake(settings: Settings) -> FileStore:
    """Return the files of the lake."""
    return FileStore(settings.lake, lambda: build_storage_options(settings.lake, settings.lake_storage))


def find_restore(settings: Settings) -> RestoreState | None:
    """Return the restore that made the lake; None for any other lake. Raises `LakeError` if it is corrupt."""
    try:
        content = open_lake(settings).read_if_there(RESTORE_FILE)
    except HeadwaterError:
        # Only Hadoop can access some locations, which no restore can have written.
        return None
    if content is None:
        return None
    try:
        return parse_restore_state(content)
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{restore_path(settings.lake)} is corrupt: {error}",
            hint="restore the lake again, into an empty location",
        ) from error


def ensure_restored(settings: Settings) -> None:
    """Raise `LakeError` for a lake whose restore was interrupted."""
    found = find_restore(settings)
    if found is not None and found.finished_at is None:
        raise LakeError(
            f"the lake {settings.lake} is incomplete: its restore from {found.source} was interrupted",
            hint=f"repeat it: headwater restore {found.source}",
        )
