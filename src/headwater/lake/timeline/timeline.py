"""The model of a timeline: actions, their states and times, and what commits carry."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from headwater.lake.timeline.instants import Commit, Instant, select_own, sort_by_completion
from headwater.lake.timeline.protocol import TimelineReader

_READ_AT_ONCE = 200


class Timeline:
    """One look at a table's timeline: it does not change after it was loaded. Raises what its reader does."""

    def __init__(self, reader: TimelineReader) -> None:
        self._reader = reader

    def exists(self) -> bool:
        """Whether a Hudi table lies at the path; one whose creation was interrupted does not."""
        return self._reader.exists()

    def read_properties(self) -> Mapping[str, str]:
        """The table's own properties, `hoodie.properties`: what it was made with."""
        return self._reader.read_properties()

    def has_commits(self) -> bool:
        """True if a write to the table has completed, so that the table has columns.

        A table whose first write was killed exists, but Spark reads it as a relation without columns. Hudi's
        next write rolls that commit back; until then every reader treats the table as an empty one.
        """
        return self.exists() and bool(self.commits or self.list_archived())

    @cached_property
    def active(self) -> tuple[Instant, ...]:
        """Actions that have not been archived, in order of request."""
        return tuple(sorted(self._reader.list_active()))

    @cached_property
    def archived(self) -> tuple[Instant, ...]:
        """Actions that have left the active timeline, in order of request. Reads the times of the whole
        archive, not what its actions carry."""
        # Archival writes the archive first, and then takes the files away.
        active = {(i.requested, i.action) for i in self.active}
        found = self._reader.list_archived()
        return tuple(sorted(i for i in found if (i.requested, i.action) not in active))

    @cached_property
    def completed_writes(self) -> list[Instant]:
        """Of the active timeline, in order of completion."""
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
        """Completed writes that have left the active timeline, in order of completion."""
        return tuple(self._archived_writes)

    def list_pending(self, action: str) -> tuple[str, ...]:
        """Requested times of compactions (clusterings ...) that are not complete, oldest first."""
        return tuple(i.requested for i in self.active if i.action == action and i.state != "completed")

    def has_completed(self, completed: str) -> bool:
        """Whether a write that completed then is still one of the table's; False where there is no table.

        Reads the archive only for a time before the active timeline.
        """
        if not self.exists():
            return False
        is_active = bool(self.commits) and completed >= self.commits[0].completed
        return any(c.completed == completed for c in (self.commits if is_active else self.list_archived()))

    def read_extra_metadata(self, commit: Commit) -> Mapping[str, str]:
        """What a commit of the active timeline carries, as Hudi keeps it."""
        instant = self._writes[commit]
        return self._reader.read_extra_metadata([instant])[instant]

    def read_own_metadata(self, commit: Commit) -> Mapping[str, str]:
        """Our own keys of an active commit's metadata, without the prefix."""
        return select_own(self.read_extra_metadata(commit))

    def count_deletes(self, after: str, upto: str) -> int:
        """Rows that active commits completed in (after, upto] say they have deleted."""
        return sum(
            self._reader.count_deletes(instant)
            for commit, instant in self._writes.items()
            if after < commit.completed <= upto
        )

    def iter_metadata(self, after: str) -> Iterator[tuple[Commit, Mapping[str, str]]]:
        """Commits completed after that time with what they carry, in order of completion.

        Reads the archive only when `after` lies before the active timeline, and of it a part at a time.
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
        """Our keys of the newest commit that carries `key`: other writers' commits do not hide it.

        Reads the archive only when no active commit has it, as after many commits of table services.
        """
        for commit in reversed(self.commits):
            metadata = self.read_own_metadata(commit)
            if key in metadata:
                return metadata
        return self._find_archived_metadata(key)

    def find_commit(self, key: str) -> Commit | None:
        """The newest active commit that carries `key` of ours."""
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
