"""How far a derived table lags behind the table that it is built from, without a JVM."""

from dataclasses import dataclass
from datetime import datetime

from headwater.capture.position import parse_instant
from headwater.ingest.planning.outcome import FOLLOWED
from headwater.lake.snapshot_reader import SnapshotReader


@dataclass(frozen=True, slots=True)
class Following:
    """`as_of` is when the last consumed commit of `source` completed; None before the first.

    `behind` commits have completed since then and are still on the source's timeline, the first of them at
    `oldest`.
    """

    source: str
    as_of: str | None
    behind: int
    oldest: datetime | None = None

    def describe(self) -> str:
        """Return a description in one line."""
        if not self.behind:
            return f"follows {self.source}, up to date"
        return f"follows {self.source}, {self.behind:,} commits behind"


def read_following(source: str, source_reader: SnapshotReader, reader: SnapshotReader) -> Following:
    """Return the lag of one table behind another, as of now; either may be missing. Raises `LakeError`."""
    metadata = (reader.find_metadata(FOLLOWED) if reader.exists() else None) or {}
    as_of = metadata.get(FOLLOWED)
    names = source_reader.commit_names if source_reader.exists() else []
    waiting = [name.completed for name in names if name.completed > (as_of or "")]
    return Following(source, as_of, len(waiting), parse_instant(waiting[0]) if waiting else None)
