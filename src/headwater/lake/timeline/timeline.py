"""The model of a timeline: actions with states and times, and commit metadata."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import islice

from headwater.lake.timeline.file_layout import find_day_before
from headwater.lake.timeline.instants import (
    WRITES,
    Commit,
    Instant,
    find_just_before,
    select_own,
    sort_by_completion,
)
from headwater.lake.timeline.protocol import TimelineReader

_READ_AT_ONCE = 500
_LISTED_FIRST = 2_500
_LISTED_AT_ONCE = 20_000
"""Archived actions in memory at a time; most readers need the first thousand only."""


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
        return self.exists() and bool(self.commits or any(i.is_commit for i in self._iter_archived("")))

    @cached_property
    def active(self) -> tuple[Instant, ...]:
        """Actions that are not archived, in order of request."""
        return tuple(sorted(self._reader.list_active()))

    @cached_property
    def archived(self) -> tuple[Instant, ...]:
        """Archived actions in order of request. Reads the times of the complete archive, without metadata."""
        found = sorted(self._reader.list_archived())
        return tuple(i for i in found if (i.requested, i.action) not in self._active_names)

    @cached_property
    def _active_names(self) -> frozenset[tuple[str, str]]:
        # Archiving writes the archive before it deletes the active files.
        return frozenset((i.requested, i.action) for i in self.active)

    def _iter_archived(self, since: str, completed_after: str = "") -> Iterator[Instant]:
        """Yield archived actions requested at or after a time, and completed after another one.

        In order of request; reads them in pieces.
        """
        listed = set(self._active_names)
        most = _LISTED_FIRST
        while True:
            found = self._reader.list_archived(since, completed_after, most)
            new = [i for i in found if (i.requested, i.action) not in listed]
            yield from new
            if len(found) < most:
                return
            # Several actions may have been requested at the same time.
            since = found[-1].requested
            listed |= {(i.requested, i.action) for i in found if i.requested == since}
            most = _LISTED_AT_ONCE if new else 2 * most

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

    def list_pending_writes(self) -> tuple[str, ...]:
        """Return requested times of pending writes of rows. Pending table services, any writer completes."""
        return tuple(i.requested for i in self.active if i.action in WRITES and i.state != "completed")

    def has_completed(self, completed: str) -> bool:
        """True if the table still contains a write with this completion time; False without a table.

        Reads the archive only if it has a write completed then or later.
        """
        if not self.exists():
            return False
        found = next(self._iter_writes(find_just_before(completed)), None)
        return found is not None and found.completed == completed

    def find_completions(self, requested: Collection[str]) -> dict[str, str]:
        """Return the completion times of writes by the times at which they were requested."""
        found = {i.requested: i.completed for i in self.completed_writes if i.requested in requested}
        missing = set(requested) - found.keys()
        if missing:
            last = max(missing)
            for instant in self._iter_archived(min(missing)):
                if instant.requested > last:
                    break
                if instant.requested in missing and instant.is_commit:
                    found[instant.requested] = instant.completed
        return found

    def list_in_progress(self, completed: str) -> list[Commit]:
        """Return the writes requested up to a completion time that completed then or later."""
        found = [i for i in self.completed_writes if i.requested <= completed <= i.completed]
        for instant in self._iter_archived_after(find_just_before(completed)):
            if instant.requested > completed:
                break
            if instant.is_commit:
                found.append(instant)
        return [instant.commit for instant in found]

    def has_archived(self, after: str) -> bool:
        """True if a write completed after that time has been archived."""
        return any(instant.is_commit for instant in self._iter_archived_after(after))

    def _iter_archived_after(self, after: str) -> Iterator[Instant]:
        """Yield archived actions completed after that time, in order of request."""
        since = find_day_before(after)
        # Hudi archives in order of request: a write that was in progress for long is archived as soon as it
        # has completed, after many that are still active.
        if after >= self._reader.find_last_archived(since):
            return
        newest = max((i.requested for i in self.active), default="")
        for instant in self._iter_archived(since, after):
            # Archived since the active actions were listed: others may have completed before it.
            if newest and instant.requested > newest:
                return
            yield instant

    def _iter_writes(self, after: str) -> Iterator[Instant]:
        active = [i for i in self.completed_writes if i.completed > after]
        waiting: list[tuple[str, Instant]] = [(i.completed, i) for i in active]
        heapify(waiting)
        for instant in self._iter_archived_after(after):
            # What is requested later completes later.
            while waiting and waiting[0][0] <= instant.requested:
                yield heappop(waiting)[1]
            if instant.is_commit:
                heappush(waiting, (instant.completed, instant))
        yield from sort_by_completion(i for _, i in waiting)

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

        Reads the archive, piece by piece, only if it has a commit completed after that time.
        """
        behind = self._iter_writes(after)
        while some := list(islice(behind, _READ_AT_ONCE)):
            archived = [instant for instant in some if instant.archived]
            found = self._reader.read_extra_metadata(archived) if archived else {}
            for instant in some:
                commit = instant.commit
                yield (
                    commit,
                    select_own(found[instant]) if instant.archived else self.read_own_metadata(commit),
                )

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
