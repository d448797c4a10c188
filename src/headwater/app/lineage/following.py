"""How far a derived table lags behind the tables that it is built from, without a JVM."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from headwater.capture.position import parse_instant
from headwater.ingest.planning.outcome import FOLLOWED
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.medallion.follow_state import parse_watermarks


@dataclass(frozen=True, slots=True)
class InputLag:
    """One source of a derived table: its last consumed commit completed at `as_of`; None before the first.

    `behind` commits have completed since then and are still on its timeline. `has_commits` is False for a
    source for whose first commit the table waits.
    """

    source: str
    as_of: str | None
    behind: int
    has_commits: bool


@dataclass(frozen=True, slots=True)
class Following:
    """The lag behind all sources, whose names `source` contains.

    `as_of` is the earliest of the `inputs`; None before the first commit. `behind` commits of them are not
    consumed, the first of which completed at `oldest`.
    """

    source: str
    as_of: str | None
    behind: int
    oldest: datetime | None = None
    inputs: tuple[InputLag, ...] = ()

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Return the sources without a commit: the table begins with the first commit of each of them."""
        return tuple(found.source for found in self.inputs if not found.has_commits)

    def describe(self) -> str:
        """Return a description in one line."""
        if len(self.inputs) > 1 and self.waits_for:
            return f"follows {self.source}, and waits for the first commit of {', '.join(self.waits_for)}"
        if not self.behind:
            return f"follows {self.source}, up to date"
        return f"follows {self.source}, {self.behind:,} commits behind"


def read_following(sources: Mapping[str, SnapshotReader], reader: SnapshotReader) -> Following:
    """Return the lag of one table behind others, as of now; each may be missing. Raises `LakeError`."""
    metadata = (reader.find_metadata(FOLLOWED) if reader.exists() else None) or {}
    watermarks = parse_watermarks(metadata.get(FOLLOWED, ""), tuple(sources))
    inputs, waiting = [], []
    for source, source_reader in sources.items():
        as_of = watermarks.get(source)
        done = [name.completed for name in (source_reader.commit_names if source_reader.exists() else ())]
        new = [completed for completed in done if completed > (as_of or "")]
        inputs.append(InputLag(source, as_of, len(new), bool(done)))
        waiting += new[:1]
    return Following(
        ", ".join(sources),
        min(watermarks.values(), default=None),
        sum(found.behind for found in inputs),
        parse_instant(min(waiting)) if waiting else None,
        tuple(inputs),
    )
