"""Rollback: reverts the latest commit."""

from dataclasses import dataclass

from headwater.errors import LakeError, UsageError
from headwater.lake.service_table import ServiceTable
from headwater.lake.timeline import Commit


@dataclass(frozen=True, slots=True)
class Undone:
    """The requested times of reverted commits, newest first."""

    commits: tuple[str, ...]


def plan_rollback(table: ServiceTable, instant: str | None) -> Undone:
    """Return the commit to revert, which is the latest one.

    Raises `UsageError` if `instant` names another commit, or if there is none.
    """
    newest = _find_newest(table)
    if instant is not None and instant not in (newest.requested, newest.completed):
        raise UsageError(
            f"table {table.address.name}: {instant} is not its latest commit; only that can be rolled back",
            hint=f"the latest is {newest.requested}; to go further back, `restore` to a savepoint",
        )
    return Undone((newest.requested,))


def roll_back(table: ServiceTable, instant: str | None) -> Undone:
    """Revert the latest commit, both rows and checkpoint. Raises `UsageError` and `LakeError`."""
    undone = plan_rollback(table, instant)
    with table.open_client({}) as client:
        if not client.rollback(undone.commits[0]):
            raise LakeError(
                f"{table.address.path}: {undone.commits[0]} was not rolled back",
                hint="another process may have rolled it back; `headwater table NAME timeline` lists the "
                "commits",
            )
    return undone


def _find_newest(table: ServiceTable) -> Commit:
    commits = table.load_timeline().commits
    if not commits:
        raise UsageError(f"table {table.address.name} has no commit to roll back", hint="nothing to do")
    return commits[-1]
