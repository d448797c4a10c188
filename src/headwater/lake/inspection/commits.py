"""Lists completed writes and shows the details of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater.config.problems.nearest import find_nearest
from headwater.errors import LakeError, UsageError
from headwater.lake.inspection.actions import (
    Action,
    build_action,
    build_actions,
    changes_rows,
    iter_write_stats,
    list_replaced,
)
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.options import COMMIT_METADATA_PREFIX
from headwater.lake.timeline.file_layout import Metadata
from headwater.lake.timeline.instants import Instant, sort_by_completion

_SCHEMA = "schema"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file of a commit: `path` is relative to the table, `size` is in bytes at the time of the commit.

    Rows are counted as in `WriteStats`; `previous` is the commit of the superseded file, if any.
    """

    partition: str
    path: str
    file_id: str
    size: int
    rows_inserted: int
    rows_updated: int
    rows_deleted: int
    rows_written: int
    write_errors: int
    previous: str | None


@dataclass(frozen=True, slots=True)
class ReplacedGroup:
    """A file group that a commit replaced."""

    partition: str
    file_id: str


@dataclass(frozen=True, slots=True)
class CommitDetail:
    """All details of one commit.

    `headwater` are headwater's own keys without prefix, `extra_metadata` the keys of others. `schema` is the
    table's schema at the time, as Avro JSON.
    """

    summary: Action
    files: tuple[WrittenFile, ...]
    replaced: tuple[ReplacedGroup, ...]
    headwater: Mapping[str, str]
    extra_metadata: Mapping[str, str]
    schema: str | None


def list_commits(address: TableAddress, now: datetime, *, limit: int | None = None) -> list[Action]:
    """List completed writes of the active timeline, including compactions and clusterings, newest first.

    Raises `TableNotFoundError`, `TableUnsupportedError` and `LakeError`.
    """
    timeline = TableTimeline(address)
    newest = timeline.completed_writes[::-1]
    return build_actions(timeline, newest[:limit], now)


def load_commit(address: TableAddress, instant: str, now: datetime) -> CommitDetail:
    """Load the commit that was requested or completed at that instant, active or archived.

    Raises `UsageError` with the nearest instant for an unknown one, and the errors of `list_commits`.
    """
    timeline = TableTimeline(address)
    found = _find(timeline.completed_writes, instant)
    if found is None:
        archived = sort_by_completion(i for i in timeline.archived if i.is_write)
        found = _find(archived, instant)
        if found is None:
            raise _build_unknown(timeline, instant, [*archived, *timeline.completed_writes])
    metadata = timeline.read_metadata([found])[found]
    if isinstance(metadata, LakeError):
        raise metadata
    return _build_detail(metadata, build_action(found, metadata, zone=timeline.zone, now=now))


def _find(commits: list[Instant], instant: str) -> Instant | None:
    return next((c for c in commits if instant in {c.requested, c.completed}), None)


def _build_unknown(timeline: TableTimeline, instant: str, commits: list[Instant]) -> UsageError:
    name = timeline.folder.address.name
    if any(instant == other.requested for other in timeline.active):
        message = f"{name}: {instant} is not a completed commit"
    else:
        message = f"{name}: there is no commit {instant}"
    near = find_nearest(instant, (commit.requested for commit in commits))
    suggestion = f"did you mean {near}? " if near else ""
    return UsageError(message, hint=f"{suggestion}`headwater table {name} timeline --archived` lists them")


def _build_detail(metadata: Metadata, summary: Action) -> CommitDetail:
    extra = dict(metadata.get("extraMetadata") or {})
    schema = extra.pop(_SCHEMA, None)
    own = {key: value for key, value in extra.items() if key.startswith(COMMIT_METADATA_PREFIX)}
    return CommitDetail(
        summary=summary,
        files=tuple(
            _build_file(partition, stat, changes=changes_rows(summary.operation))
            for partition, stat in iter_write_stats(metadata)
        ),
        replaced=tuple(ReplacedGroup(*group) for group in sorted(list_replaced(metadata))),
        headwater={key.removeprefix(COMMIT_METADATA_PREFIX): value for key, value in sorted(own.items())},
        extra_metadata={key: value for key, value in sorted(extra.items()) if key not in own},
        schema=schema or None,
    )


def _build_file(partition: str, stat: Mapping[str, Any], *, changes: bool) -> WrittenFile:
    def count(name: str) -> int:
        return stat.get(name) or 0

    previous = stat.get("prevCommit")
    return WrittenFile(
        partition=partition,
        path=stat["path"],
        file_id=stat.get("fileId") or "",
        size=count("fileSizeInBytes"),
        rows_inserted=count("numInserts") if changes else 0,
        rows_updated=count("numUpdateWrites") if changes else 0,
        rows_deleted=count("numDeletes") if changes else 0,
        rows_written=count("numWrites"),
        write_errors=count("totalWriteErrors"),
        # Hudi writes `null` as text if there is no previous commit.
        previous=previous if previous and previous != "null" else None,
    )
