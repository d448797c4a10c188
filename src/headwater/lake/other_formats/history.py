"""Versions of a table in another format, and what to read since the last processed one. Pure."""

from dataclasses import dataclass
from datetime import datetime

from headwater.lake.queries.change_plan import ChangePlan


@dataclass(frozen=True, slots=True)
class History:
    """The versions from which the current one resulted, oldest first, as far as the table still lists them.

    `table_id` is assigned when the table is created. `versions` is empty before the first commit.
    """

    table_id: str
    versions: tuple[str, ...]

    @property
    def checkpoint(self) -> str:
        """Return the checkpoint of a follower that has processed everything."""
        return write_checkpoint(self.versions[-1], self.table_id)

    def find_version(self, checkpoint: str) -> str | None:
        """Return the version of a checkpoint; None if the history does not contain it."""
        version, table_id = parse_checkpoint(checkpoint)
        return version if table_id == self.table_id and version in self.versions else None


@dataclass(frozen=True, slots=True)
class VersionTime:
    """A version of a table, and when it was committed; None if the table does not record that."""

    version: str
    committed_at: datetime | None


def write_checkpoint(version: str, table_id: str) -> str:
    """Return a checkpoint: a version, and the table that it belongs to."""
    return f"{version}@{table_id}"


def parse_checkpoint(checkpoint: str) -> tuple[str, str]:
    """Return the version and the table of a checkpoint."""
    version, _, table_id = checkpoint.partition("@")
    return version, table_id


def plan_versions(history: History, as_of: str, *, is_same_selection: bool) -> ChangePlan | None:
    """Plan the read since the checkpoint `as_of`, empty for none; None before the table's first commit.

    `is_same_selection` is False if the follower has changed its selection of rows or columns since.
    """
    if not history.versions:
        return None
    upto = history.checkpoint
    version, table_id = parse_checkpoint(as_of)
    if not as_of:
        reason = "none of it has been processed yet"
    elif not is_same_selection:
        reason = "the selection of its rows or columns has changed"
    elif table_id != history.table_id:
        reason = "another table exists at its address now"
    elif as_of == upto:
        return ChangePlan("nothing", as_of, as_of)
    elif version not in history.versions:
        reason = f"its history no longer contains version {version}"
    else:
        return ChangePlan("changes", as_of, upto, has_deletes=True)
    return ChangePlan("all", as_of, upto, has_deletes=True, reason=reason)


def list_after(versions: tuple[str, ...], version: str) -> tuple[str, ...]:
    """Return the versions after one; all if it is not among them."""
    return versions[versions.index(version) + 1 :] if version in versions else versions
