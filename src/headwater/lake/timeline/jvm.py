"""Reads a timeline in the JVM: on any file system, for any table version that Hudi reads."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from headwater.errors import LakeError
from headwater.lake.jvm import Jvm, connect, explained_lake
from headwater.lake.options import TABLE_METADATA_FOLDER, TABLE_PROPERTIES_FILE
from headwater.lake.timeline.instants import Instant, State, find_just_before
from headwater.lake.timeline.timeline import Timeline

_INSTANT_TEXT = re.compile(r"(\d+)(?:__(\d+))?__(\w+?)__(REQUESTED|INFLIGHT|COMPLETED)\]")
_STATES: Mapping[str, State] = {
    "REQUESTED": "requested", "INFLIGHT": "inflight", "COMPLETED": "completed",
}  # fmt: skip
_INSTANT_FILES = (".requested", ".inflight", "commit")


def load_timeline(spark: SparkSession, path: str) -> Timeline:
    """Return the timeline of the table at `path`, which is loaded on first access."""
    return Timeline(JvmReader(spark, path))


class JvmReader:
    """A `TimelineReader` in the JVM."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._java = connect(spark)
        self._path = path

    def exists(self) -> bool:
        """See `TimelineReader.exists`."""
        return has_table(self._java, self._path)

    def read_properties(self) -> Mapping[str, str]:
        """See `TimelineReader.read_properties`."""
        with explained_lake(self._path):
            return self._java.read_map(self._meta_client.getTableConfig().getProps())

    def list_active(self) -> list[Instant]:
        """See `TimelineReader.list_active`."""
        with explained_lake(self._path):
            found = _list_instants(self._active)
            if not any(i.action == "replacecommit" and i.state != "completed" for i in found):
                return found
            # Before table version 8, only the plan of a `replacecommit` identifies a clustering.
            clusterings = {
                i.requested for i in _list_instants(self._active.filterPendingClusteringTimeline())
            }
        return [replace(i, action="clustering") if i.requested in clusterings else i for i in found]

    def list_archived(self) -> list[Instant]:
        """See `TimelineReader.list_archived`."""
        with explained_lake(self._path):
            return _list_instants(self._archived, archived=True)

    def read_extra_metadata(self, instants: Sequence[Instant]) -> Mapping[Instant, Mapping[str, str]]:
        """See `TimelineReader.read_extra_metadata`."""
        archived = sorted(instant.requested for instant in instants if instant.archived)
        with explained_lake(self._path):
            if archived:
                span = find_just_before(archived[0]), archived[-1]
                self._archived.loadCompletedInstantDetailsInMemory(*span)
            found = {i: self._java.read_map(self._read_commit(i).getExtraMetadata()) for i in instants}
            if archived:
                self._archived.clearInstantDetailsFromMemory(*span)
        return found

    def count_deletes(self, instant: Instant) -> int:
        """See `TimelineReader.count_deletes`."""
        with explained_lake(self._path):
            return int(self._read_commit(instant).getTotalRecordsDeleted())

    def _read_commit(self, instant: Instant) -> Any:
        timeline, at = self._archived if instant.archived else self._active_writes, instant.requested
        found = timeline.findInstantsInClosedRange(at, at).firstInstant()
        if not found.isPresent():
            raise LakeError(f"{self._path}: commit {at} is not on the timeline")
        return timeline.readCommitMetadata(found.get())

    @cached_property
    def _meta_client(self) -> Any:
        return self._java.build_meta_client(self._path)

    @cached_property
    def _active(self) -> Any:
        return self._meta_client.getActiveTimeline()

    @cached_property
    def _active_writes(self) -> Any:
        return self._active.getWriteTimeline().filterCompletedInstants()

    @cached_property
    def _archived(self) -> Any:
        # Avoid `getWriteTimeline()`: in Hudi 1.2, it is empty for an archived timeline.
        return self._meta_client.getArchivedTimeline()


def _list_instants(timeline: Any, *, archived: bool = False) -> list[Instant]:
    # One call instead of four per instant: a timeline may have thousands of them.
    shown = _INSTANT_TEXT.findall(timeline.getInstants().toString())
    return [
        Instant(requested, action, completed, _STATES[state], archived=archived)
        for requested, completed, action, state in shown
    ]


def clear_unfinished_creation(spark: SparkSession, path: str) -> bool:
    """Delete what an interrupted table creation left behind; True if there was anything.

    Otherwise, Hudi treats the folder as a table that it cannot load. Deletes nothing once a write has
    started. Raises `LakeError`.
    """
    java = connect(spark)
    folder = java.build_path(f"{path}/{TABLE_METADATA_FOLDER}")
    with explained_lake(path):
        system = folder.getFileSystem(java.hadoop_conf)
        if has_table(java, path) or not system.exists(folder):
            return False
        files = system.listFiles(folder, True)
        while files.hasNext():
            if files.next().getPath().getName().endswith(_INSTANT_FILES):
                return False
        return bool(system.delete(folder, True))


def has_table(java: Jvm, path: str) -> bool:
    """True if a Hudi table exists at the path; an interrupted creation does not count."""
    file = java.build_path(f"{path}/{TABLE_PROPERTIES_FILE}")
    backup = java.build_path(f"{path}/{TABLE_PROPERTIES_FILE}.backup")
    with explained_lake(path):
        system = file.getFileSystem(java.hadoop_conf)
        # While Hudi updates the properties, only their backup exists; check the file again in case the update
        # just ended.
        return _has_content(system, file) or bool(system.exists(backup)) or _has_content(system, file)


def _has_content(system: Any, file: Any) -> bool:
    return bool(system.exists(file)) and system.getFileStatus(file).getLen() > 0
