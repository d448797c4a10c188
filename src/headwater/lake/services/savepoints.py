"""Savepoints: table states that cleaning retains and that the table can be restored to."""

import getpass
from dataclasses import dataclass
from typing import Any

from headwater.errors import UsageError
from headwater.lake.jvm import explained_lake
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.rollback import Undone


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A savepoint; `instant` is the requested time of the retained commit."""

    instant: str
    user: str
    comment: str


def list_savepoints(table: ServiceTable) -> tuple[Savepoint, ...]:
    """List all savepoints, oldest first. Raises `TableNotFoundError` and `LakeError`."""
    meta_client = table.load_meta_client()
    with explained_lake(table.address.path):
        timeline = meta_client.getActiveTimeline()
        completed = timeline.getSavePointTimeline().filterCompletedInstants()
        found = [_read(timeline, instant) for instant in completed.getInstants()]
    return tuple(sorted(found, key=lambda savepoint: savepoint.instant))


def _read(timeline: Any, instant: Any) -> Savepoint:
    metadata = timeline.readSavepointMetadata(instant)
    return Savepoint(
        str(instant.requestedTime()), str(metadata.getSavepointedBy()), str(metadata.getComments())
    )


def list_savepoint_files(table: ServiceTable) -> dict[str, frozenset[str]]:
    """Return the names of the files that each savepoint retains, by its instant. Raises `LakeError`."""
    meta_client = table.load_meta_client()
    with explained_lake(table.address.path):
        timeline = meta_client.getActiveTimeline()
        completed = timeline.getSavePointTimeline().filterCompletedInstants()
        return {
            str(instant.requestedTime()): frozenset(
                str(name)
                for partition in timeline.readSavepointMetadata(instant).getPartitionMetadata().values()
                for name in partition.getSavepointDataFile()
            )
            for instant in completed.getInstants()
        }


def create_savepoint(
    table: ServiceTable, instant: str | None, comment: str, *, dry_run: bool = False
) -> Savepoint:
    """Create a savepoint at a commit, by default the latest.

    Raises `UsageError` for a commit that is unknown or already has a savepoint. Raises `LakeError`, for
    example for a commit whose files were cleaned.
    """
    chosen = _find_commit(table, instant)
    if any(savepoint.instant == chosen for savepoint in list_savepoints(table)):
        raise UsageError(
            f"table {table.address.name}: {chosen} already has a savepoint", hint="`savepoints` lists all"
        )
    savepoint = Savepoint(chosen, getpass.getuser(), comment)
    if not dry_run:
        with table.open_client({}) as client:
            client.savepoint(savepoint.instant, savepoint.user, savepoint.comment)
    return savepoint


def delete_savepoint(table: ServiceTable, instant: str) -> None:
    """Delete a savepoint, so that its files can be cleaned. Raises `UsageError` for none, and `LakeError`."""
    chosen = _find_savepoint(table, instant)
    with table.open_client({}) as client:
        client.deleteSavepoint(chosen.instant)


def plan_restore(table: ServiceTable, instant: str | None) -> Undone:
    """Return the commits that a restore to a savepoint, by default the latest, would revert.

    Raises `UsageError` for an unknown savepoint.
    """
    chosen = _find_savepoint(table, instant)
    commits = table.load_timeline().commits
    return Undone(tuple(c.requested for c in reversed(commits) if c.requested > chosen.instant))


def restore(table: ServiceTable, instant: str | None) -> Undone:
    """Restore the table to a savepoint; reverts rows and checkpoints of all later commits.

    Raises `UsageError` for an unknown savepoint, and `LakeError`.
    """
    chosen = _find_savepoint(table, instant)
    undone = plan_restore(table, chosen.instant)
    with table.open_client({}) as client:
        client.restoreToSavepoint(chosen.instant)
    return undone


def _find_commit(table: ServiceTable, instant: str | None) -> str:
    commits = table.load_timeline().commits
    found = [c.requested for c in commits if instant in (None, c.requested, c.completed)]
    if not found:
        asked = f"no commit {instant}" if instant else "no commit yet"
        newest = ", ".join(c.requested for c in reversed(commits[-3:]))
        raise UsageError(
            f"table {table.address.name} has {asked}", hint=f"latest commits: {newest or 'none'}"
        )
    return found[-1]


def _find_savepoint(table: ServiceTable, instant: str | None) -> Savepoint:
    savepoints = list_savepoints(table)
    found = [savepoint for savepoint in savepoints if instant in (None, savepoint.instant)]
    if not found:
        asked = f"no savepoint {instant}" if instant else "no savepoint"
        there = ", ".join(savepoint.instant for savepoint in savepoints)
        hint = f"savepoints: {there}" if there else "`headwater table NAME savepoint` creates one"
        raise UsageError(f"table {table.address.name} has {asked}", hint=hint)
    return found[-1]
