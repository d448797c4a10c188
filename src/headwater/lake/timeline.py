"""A table's timeline: which commits completed when, and what they carry."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from pyspark.sql import SparkSession

from headwater.errors import LakeError
from headwater.lake.jvm import connect, explained_lake
from headwater.lake.options import COMMIT_METADATA_PREFIX, TABLE_METADATA_FOLDER, TABLE_PROPERTIES_FILE

_INSTANT_TEXT = re.compile(r"\[(\d+)__(\d+)__(\w+?)__COMPLETED\]")
_INSTANTS = (".requested", ".inflight", "commit")
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_READ_AT_ONCE = 200


@dataclass(frozen=True, slots=True, order=True)
class Commit:
    """A completed write. Both instants are Hudi's `yyyyMMddHHmmssSSS` text; ordered by completion."""

    completed: str
    requested: str
    action: str


class Timeline:
    """One look at a table's timeline: it does not change after it was loaded."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._java = connect(spark)
        self._path = path

    def exists(self) -> bool:
        """Whether a Hudi table lies at the path; one whose creation was cut short does not."""
        file, backup = self._at(TABLE_PROPERTIES_FILE), self._at(f"{TABLE_PROPERTIES_FILE}.backup")
        with explained_lake(self._path):
            system = file.getFileSystem(self._java.hadoop_conf)
            # While Hudi changes the properties there is only their copy, and none when they are there again.
            return _has_content(system, file) or bool(system.exists(backup)) or _has_content(system, file)

    def has_commits(self) -> bool:
        """True if a write to the table has completed, so that the table has columns.

        A table whose first write was killed exists, but Spark reads it as a relation without columns. Hudi's
        next write rolls that commit back; until then every reader treats the table as an empty one.
        """
        return self.exists() and bool(self.commits or self.list_archived())

    def read_properties(self) -> Mapping[str, str]:
        """The table's own properties, `hoodie.properties`: what it was made with."""
        with explained_lake(self._path):
            return self._java.read_map(self._meta_client.getTableConfig().getProps())

    def clear_unfinished_creation(self) -> bool:
        """Remove what a process left that died while it created the table; True when there was any.

        Hudi takes the folder for a table that it then cannot load, for ever. Nothing is removed once
        a write has begun.
        """
        folder = self._at(TABLE_METADATA_FOLDER)
        with explained_lake(self._path):
            system = folder.getFileSystem(self._java.hadoop_conf)
            if self.exists() or not system.exists(folder):
                return False
            files = system.listFiles(folder, True)
            while files.hasNext():
                if files.next().getPath().getName().endswith(_INSTANTS):
                    return False
            return bool(system.delete(folder, True))

    def _at(self, name: str) -> Any:
        return self._java.build_path(f"{self._path}/{name}")

    @cached_property
    def _meta_client(self) -> Any:
        with explained_lake(self._path):
            return self._java.build_meta_client(self._path)

    @cached_property
    def _active(self) -> Any:
        return self._meta_client.getActiveTimeline().getWriteTimeline().filterCompletedInstants()

    @cached_property
    def commits(self) -> tuple[Commit, ...]:
        """Completed writes of the active timeline, in order of completion."""
        return _list_completed(self._active)

    def has_completed(self, completed: str) -> bool:
        """Whether a write that completed then is still one of the table's; False where there is no table.

        Reads the archive only for a time before the active timeline.
        """
        if not self.exists():
            return False
        is_active = bool(self.commits) and completed >= self.commits[0].completed
        return any(c.completed == completed for c in (self.commits if is_active else self.list_archived()))

    @cached_property
    def _archived(self) -> Any:
        with explained_lake(self._path):
            return self._meta_client.getArchivedTimeline()

    def list_archived(self) -> tuple[Commit, ...]:
        """Completed writes that have left the active timeline, in order of completion. Reads the times of the
        whole archive, not what its commits carry."""
        # Not getWriteTimeline(): for an archived timeline Hudi 1.2 answers it with nothing.
        return _list_completed(self._archived)

    def read_metadata(self, commit: Commit) -> Mapping[str, str]:
        """Our own keys of one commit's metadata, without the prefix. Only for active commits."""
        return self._read_own(self._active, commit)

    def _read_own(self, timeline: Any, commit: Commit) -> Mapping[str, str]:
        found = timeline.findInstantsInClosedRange(commit.requested, commit.requested).firstInstant()
        if not found.isPresent():
            raise LakeError(f"{self._path}: commit {commit.requested} is not on the timeline")
        extra = self._java.read_map(timeline.readCommitMetadata(found.get()).getExtraMetadata())
        return {
            key.removeprefix(COMMIT_METADATA_PREFIX): value
            for key, value in extra.items()
            if key.startswith(COMMIT_METADATA_PREFIX)
        }

    def count_deletes(self, after: str, upto: str) -> int:
        """Rows that active commits completed in (after, upto] say they have deleted."""
        count = 0
        for commit in self.commits:
            if after < commit.completed <= upto:
                found = self._active.findInstantsInClosedRange(commit.requested, commit.requested)
                metadata = self._active.readCommitMetadata(found.firstInstant().get())
                count += int(metadata.getTotalRecordsDeleted())
        return count

    def iter_metadata(self, after: str) -> Iterator[tuple[Commit, Mapping[str, str]]]:
        """Commits completed after that time with what they carry, in order of completion.

        Reads the archive only when `after` lies before the active timeline, and of it a part at a time.
        """
        commits = set(self.commits)
        if not self.commits or after < self.commits[0].completed:
            commits |= set(self.list_archived())
        behind = iter(sorted(commit for commit in commits if commit.completed > after))
        while some := list(islice(behind, _READ_AT_ONCE)):
            archived = self._read_archived([commit for commit in some if commit not in self.commits])
            for commit in some:
                yield commit, archived[commit] if commit in archived else self.read_metadata(commit)

    def count_pending_compactions(self) -> int:
        """Compactions that are planned and not done."""
        with explained_lake(self._path):
            timeline = self._meta_client.getActiveTimeline().filterPendingCompactionTimeline()
            return int(timeline.countInstants())

    def count_pending_clusterings(self) -> int:
        """Clusterings that are planned and not done."""
        with explained_lake(self._path):
            timeline = self._meta_client.getActiveTimeline().filterPendingClusteringTimeline()
            return int(timeline.countInstants())

    def find_metadata(self, key: str) -> Mapping[str, str] | None:
        """Our keys of the newest commit that carries `key`: other writers' commits do not hide it.

        Reads the archive only when no active commit has it, as after many commits of table services.
        """
        for commit in reversed(self.commits):
            metadata = self.read_metadata(commit)
            if key in metadata:
                return metadata
        return self._find_archived_metadata(key)

    def find_commit(self, key: str) -> Commit | None:
        """The newest active commit that carries `key` of ours."""
        return next((c for c in reversed(self.commits) if key in self.read_metadata(c)), None)

    def _find_archived_metadata(self, key: str) -> Mapping[str, str] | None:
        archived = self.list_archived()
        for end in range(len(archived), 0, -_READ_AT_ONCE):
            found = self._read_archived(archived[max(0, end - _READ_AT_ONCE) : end])
            for commit in reversed(found):
                if key in found[commit]:
                    return found[commit]
        return None

    def _read_archived(self, commits: Sequence[Commit]) -> dict[Commit, Mapping[str, str]]:
        if not commits:
            return {}
        with explained_lake(self._path):
            requested = sorted(commit.requested for commit in commits)
            span = find_just_before(requested[0]), requested[-1]
            self._archived.loadCompletedInstantDetailsInMemory(*span)
            found = {commit: self._read_own(self._archived, commit) for commit in commits}
            self._archived.clearInstantDetailsFromMemory(*span)
        return found


def find_just_before(instant: str) -> str:
    """The begin of a range that has this instant as its first one: Hudi leaves the begin itself out.

    Instants are digits of one width and compared as text, so the number below sorts just before even where
    it is no valid time.
    """
    return str(int(instant) - 1).zfill(len(instant))


def _list_completed(timeline: Any) -> tuple[Commit, ...]:
    # One call instead of three a commit: a timeline may have thousands of them.
    shown = _INSTANT_TEXT.findall(timeline.getInstants().toString())
    found = (Commit(completed, requested, action) for requested, completed, action in shown)
    return tuple(sorted(commit for commit in found if commit.action in _WRITES))


def _has_content(system: Any, file: Any) -> bool:
    return bool(system.exists(file)) and system.getFileStatus(file).getLen() > 0
