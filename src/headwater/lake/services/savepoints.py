"""Savepoints: a state of the table that cleaning spares, and that the table can be set back to."""

import getpass
from dataclasses import dataclass
from typing import Any

from headwater.errors import UsageError
from headwater.lake.jvm import explained_lake
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.rollback import Undone


@dataclass(frozen=True, slots=True)
class Savepoint:
    """`instant` is the requested time of the commit that is kept."""

    instant: str
    user: str
    comment: str


def list_savepoints(table: ServiceTable) -> tuple[Savepoint, ...]:
    """All of them, oldest first. Raises `TableNotFoundError` and `LakeError`."""
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


def create_savepoint(
    table: ServiceTable, instant: str | None, comment: str, *, dry_run: bool = False
) -> Savepoint:
    """Keep the table as of a commit, by default the newest.

    Raises `UsageError` for a commit that is not there or has a savepoint, and `LakeError`, as for one whose
    files were cleaned.
    """
    chosen = _find_commit(table, instant)
    if any(savepoint.instant == chosen for savepoint in list_savepoints(table)):
        raise UsageError(
            f"table {table.address.name}: {chosen} has a savepoint", hint="`savepoints` lists them all"
        )
    savepoint = Savepoint(chosen, getpass.getuser(), comment)
    if not dry_run:
        with table.open_client({}) as client:
            client.savepoint(savepoint.instant, savepoint.user, savepoint.comment)
    return savepoint


def delete_savepoint(table: ServiceTable, instant: str) -> None:
    """Let the cleaner have its files again. Raises `UsageError` for none at that instant, and `LakeError`."""
    chosen = _find_savepoint(table, instant)
    with table.open_client({}) as client:
        client.deleteSavepoint(chosen.instant)


def plan_restore(table: ServiceTable, instant: str | None) -> Undone:
    """The commits that setting the table back to a savepoint, by default the newest, takes back.

    Raises `UsageError` for no such savepoint.
    """
    chosen = _find_savepoint(table, instant)
    commits = table.load_timeline().commits
    return Undone(tuple(c.requested for c in reversed(commits) if c.requested > chosen.instant))


def restore(table: ServiceTable, instant: str | None) -> Undone:
    """Set the table back to a savepoint: what was committed later is gone, rows and checkpoint.

    Raises `UsageError` for no such savepoint, and `LakeError`.
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
        raise UsageError(f"table {table.address.name} has {asked}", hint=f"the newest: {newest or 'none'}")
    return found[-1]


def _find_savepoint(table: ServiceTable, instant: str | None) -> Savepoint:
    savepoints = list_savepoints(table)
    found = [savepoint for savepoint in savepoints if instant in (None, savepoint.instant)]
    if not found:
        asked = f"no savepoint {instant}" if instant else "no savepoint"
        there = ", ".join(savepoint.instant for savepoint in savepoints)
        hint = f"there are: {there}" if there else "`headwater table NAME savepoint` makes one"
        raise UsageError(f"table {table.address.name} has {asked}", hint=hint)
    return found[-1]
