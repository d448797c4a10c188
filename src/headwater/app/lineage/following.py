"""How far a derived table lags behind the tables that it is built from, without a JVM."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headwater.capture.position import parse_instant
from headwater.config.table import TableConfig
from headwater.errors import LakeError
from headwater.ingest.planning.outcome import FOLLOWED
from headwater.lake.layout import find_source_path
from headwater.lake.other_formats.delta_files import DeltaVersions
from headwater.lake.other_formats.history import list_after, parse_checkpoint
from headwater.lake.other_formats.iceberg_files import IcebergVersions, split_address
from headwater.lake.other_formats.version_reader import VersionReader
from headwater.lake.snapshot_reader import SnapshotReader, to_uri
from headwater.lake.table_files import ArrowFiles
from headwater.medallion.follow_state import parse_watermarks


@dataclass(frozen=True, slots=True)
class InputLag:
    """One source of a derived table: its last consumed commit completed at `as_of`; None before the first.

    For Delta and Iceberg tables, `as_of` is the checkpoint of the last consumed version.

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


class CommitReader(Protocol):
    """Lists the commits of a source table."""

    def list_after(self, as_of: str) -> "SourceCommits":
        """Return what a follower with that checkpoint, empty for none, has not processed."""
        ...


@dataclass(frozen=True, slots=True)
class SourceCommits:
    """`behind` commits are newer than a checkpoint; the first of them completed at `oldest`, if known.

    `has_commits` is False for a table without any.
    """

    behind: int
    oldest: datetime | None
    has_commits: bool


class HudiCommits:
    """`CommitReader` of a Hudi table."""

    def __init__(self, reader: SnapshotReader) -> None:
        self._reader = reader

    def list_after(self, as_of: str) -> SourceCommits:
        """See `CommitReader.list_after`."""
        done = [name.completed for name in (self._reader.commit_names if self._reader.exists() else ())]
        new = [completed for completed in done if completed > as_of]
        return SourceCommits(len(new), parse_instant(new[0]) if new else None, bool(done))


class VersionCommits:
    """`CommitReader` of a table in another format."""

    def __init__(self, path: str, reader: VersionReader) -> None:
        self._path = path
        self._reader = reader

    def list_after(self, as_of: str) -> SourceCommits:
        """See `CommitReader.list_after`."""
        try:
            versions = self._reader.list_versions() if self._reader.exists() else ()
            new = list_after(tuple(versions), parse_checkpoint(as_of)[0])
            oldest = self._reader.find_time(new[0]).committed_at if new else None
        except OSError as error:
            raise LakeError(
                f"{self._path}: cannot read the table: {error}", hint="check the address and the credentials"
            ) from error
        return SourceCommits(len(new), oldest, bool(versions))


def open_commits(lake: str, config: TableConfig, options: Mapping[str, str]) -> dict[str, CommitReader]:
    """Return the readers of a derived table's sources, by name or address. Reads nothing."""
    return {source: _open_commits(lake, config, source, options) for source in config.sources}


def _open_commits(lake: str, config: TableConfig, source: str, options: Mapping[str, str]) -> CommitReader:
    path = find_source_path(lake, source)
    table_format = config.find_format(source)
    if table_format == "hudi":
        return HudiCommits(SnapshotReader(path, options))
    folder = path if table_format == "delta" else split_address(path)[0]
    try:
        files = ArrowFiles(to_uri(folder), options)
    except OSError as error:
        raise LakeError(f"{path}: cannot open the table's store: {error}") from error
    reader = DeltaVersions(path, files) if table_format == "delta" else IcebergVersions(path, files)
    return VersionCommits(path, reader)


def read_following(sources: Mapping[str, CommitReader], reader: SnapshotReader) -> Following:
    """Return the lag of one table behind others, as of now; each may be missing. Raises `LakeError`."""
    metadata = (reader.find_metadata(FOLLOWED) if reader.exists() else None) or {}
    watermarks = parse_watermarks(metadata.get(FOLLOWED, ""), tuple(sources))
    found = {source: each.list_after(watermarks.get(source, "")) for source, each in sources.items()}
    return Following(
        ", ".join(sources),
        min(watermarks.values(), default=None),
        sum(commits.behind for commits in found.values()),
        min((commits.oldest for commits in found.values() if commits.oldest), default=None),
        tuple(
            InputLag(source, watermarks.get(source), commits.behind, commits.has_commits)
            for source, commits in found.items()
        ),
    )
