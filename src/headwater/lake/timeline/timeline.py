"""The model of a timeline: actions with states and times, and commit metadata."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from headwater.lake.timeline.instants import Commit, Instant, select_own, sort_by_completion
from headwater.lake.timeline.protocol import TimelineReader

_READ_AT_ONCE = 200


class Timeline:
    """An immutable snapshot of a table's timeline. Raises the errors of its reader."""

    def __init__(self, reader: TimelineReader) -> None:
        self._reader = reader

    def exists(self) -> bool:
        """True if a Hudi table exists at the path; an interrupted creation does not count."""
        return self._reader.exists()

    def read_properties(self) -> Mapping[str, str]:
        """Read the table's properties (`hoodie.properties`)."""
        return self._reader.read_properties()

    def has_commits(self) -> bool:
        """True if a write to the table has completed, so that the table has columns.

        A table whose first write was killed exists, but Spark reads it as a relation without columns. Hudi's
        next write rolls that commit back. Until then, every reader treats the table as empty.
        """
        return self.exists() and bool(self.commits or self.list_archived())

    @cached_property
    def active(self) -> tuple[Instant, ...]:
        """Actions that are not archived, in order of request."""
        return tuple(sorted(self._reader.list_active()))

    @cached_property
    def archived(self) -> tuple[Instant, ...]:
        """Archived actions in order of request. Reads the times of the complete archive, without metadata."""
        # Archiving writes the archive before it deletes the active files.
        active = {(i.requested, i.action) for i in self.active}
        found = self._reader.list_archived()
        return tuple(sorted(i for i in found if (i.requested, i.action) not in active))

    @cached_property
    def completed_writes(self) -> list[Instant]:
        """List completed writes of the active timeline, in order of completion."""
        return sort_by_completion(i for i in self.active if i.is_commit)

    @cached_property
    def _writes(self) -> Mapping[Commit, Instant]:
        return {i.commit: i for i in self.completed_writes}

    @cached_property
    def _archived_writes(self) -> Mapping[Commit, Instant]:
        return {i.commit: i for i in sort_by_completion(self.archived) if i.is_commit}

    @cached_property
    def commits(self) -> tuple[Commit, ...]:
        """Completed writes of the active timeline, in order of completion."""
        return tuple(self._writes)

    def list_archived(self) -> tuple[Commit, ...]:
        """List archived completed writes, in order of completion."""
        return tuple(self._archived_writes)

    def list_pending(self, action: str) -> tuple[str, ...]:
        """Return requested times of pending actions of a kind, such as compactions, oldest first."""
        return tuple(i.requested for i in self.active if i.action == action and i.state != "completed")

    def has_completed(self, completed: str) -> bool:
        """True if the table still contains a write with this completion time; False without a table.

        Reads the archive only for a time before the active timeline.
        """
        if not self.exists():
            return False
        is_active = bool(self.commits) and completed >= self.commits[0].completed
        return any(c.completed == completed for c in (self.commits if is_active else self.list_archived()))

    def read_extra_metadata(self, commit: Commit) -> Mapping[str, str]:
        """Return the metadata of an active commit in Hudi's form."""
        instant = self._writes[commit]
        return self._reader.read_extra_metadata([instant])[instant]

    def read_own_metadata(self, commit: Commit) -> Mapping[str, str]:
        """Return headwater's own metadata of an active commit, without the prefix."""
        return select_own(self.read_extra_metadata(commit))

    def count_deletes(self, after: str, upto: str) -> int:
        """Return the number of deleted rows that active commits completed in (after, upto] recorded."""
        return sum(
            self._reader.count_deletes(instant)
            for commit, instant in self._writes.items()
            if after < commit.completed <= upto
        )

    def iter_metadata(self, after: str) -> Iterator[tuple[Commit, Mapping[str, str]]]:
        """Yield commits completed after that time with their metadata, in order of completion.

        Reads the archive, piece by piece, only if `after` is before the active timeline.
        """
        commits = set(self.commits)
        if not self.commits or after < self.commits[0].completed:
            commits |= set(self.list_archived())
        behind = iter(sorted(commit for commit in commits if commit.completed > after))
        while some := list(islice(behind, _READ_AT_ONCE)):
            archived = self._read_archived([commit for commit in some if commit not in self._writes])
            for commit in some:
                yield commit, archived[commit] if commit in archived else self.read_own_metadata(commit)

    def find_metadata(self, key: str) -> Mapping[str, str] | None:
        """Return headwater's metadata of the latest commit that has `key`, skipping commits of other writers.

        Reads the archive only if no active commit has it, for example after many table services.
        """
        for commit in reversed(self.commits):
            metadata = self.read_own_metadata(commit)
            if key in metadata:
                return metadata
        return self._find_archived_metadata(key)

    def find_commit(self, key: str) -> Commit | None:
        """Return the latest active commit whose own metadata has `key`."""
        return next((c for c in reversed(self.commits) if key in self.read_own_metadata(c)), None)

    def _find_archived_metadata(self, key: str) -> Mapping[str, str] | None:
        archived = self.list_archived()
        for end in range(len(archived), 0, -_READ_AT_ONCE):
            found = self._read_archived(archived[max(0, end - _READ_AT_ONCE) : end])
            for commit in reversed(found):
                if key in found[commit]:
                    return found[commit]
        return None

    def _read_archived(self, commits: Sequence[Commit]) -> dict[Commit, Mapping[str, str]]:
        instants = {commit: self._archived_writes[commit] for commit in commits}
        found = self._reader.read_extra_metadata(list(instants.values())) if instants else {}
        return {commit: select_own(found[instant]) for commit, instant in instants.items()}
