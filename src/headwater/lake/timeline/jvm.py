"""Reads a timeline in the JVM: on any file system, for any table version that Hudi reads."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.errors import LakeError
from headwater.lake.jvm import Jvm, connect, explained_lake, read_file, read_file_if_there
from headwater.lake.options import TABLE_METADATA_FOLDER, TABLE_PROPERTIES_FILE
from headwater.lake.properties import TableProperties
from headwater.lake.table_files import StoredFile
from headwater.lake.timeline.file_layout import (
    LAYOUT,
    NAME_COLUMNS,
    VERSION_FILE,
    decode_metadata,
    divide_files,
    find_manifest,
    parse_manifest,
    select_files,
)
from headwater.lake.timeline.instants import WRITES, Instant, State, find_just_before
from headwater.lake.timeline.timeline import Timeline

_INSTANT_TEXT = re.compile(r"(\d+)(?:__(\d+))?__(\w+?)__(REQUESTED|INFLIGHT|COMPLETED)\]")
_STATES: Mapping[str, State] = {
    "REQUESTED": "requested", "INFLIGHT": "inflight", "COMPLETED": "completed",
}  # fmt: skip
_ARCHIVE_SCHEMA = "instantTime string, completionTime string, action string, metadata binary"
_INSTANT_FILES = (".requested", ".inflight", "commit")


def load_timeline(spark: SparkSession, path: str, last_by_file: dict[str, str] | None = None) -> Timeline:
    """Return the timeline of the table at `path`, which is loaded on first access.

    `last_by_file` keeps the latest completion in each file of the archive from one timeline of the table to
    the next, so that only new files are read.
    """
    return Timeline(JvmReader(spark, path, last_by_file))


class JvmReader:
    """A `TimelineReader` in the JVM."""

    def __init__(self, spark: SparkSession, path: str, last_by_file: dict[str, str] | None = None) -> None:
        self._spark = spark
        self._java = connect(spark)
        self._path = path
        self._last_by_file = {} if last_by_file is None else last_by_file

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

    def list_archived(
        self, since: str = "", completed_after: str = "", most: int | None = None
    ) -> list[Instant]:
        """See `TimelineReader.list_archived`."""
        with explained_lake(self._path):
            if self._has_archive_files:
                return self._list_archived(since, completed_after, most)
            listed = _list_instants(self._archived, archived=True)
            found = (i for i in listed if not completed_after or i.completed > completed_after)
            return sorted(i for i in found if i.requested >= since)[:most]

    def _list_archived(self, since: str, completed_after: str, most: int | None) -> list[Instant]:
        # Hudi's own reader keeps all actions since then in memory: a busy table has 86,400 a day.
        found: list[Instant] = []
        is_meant = F.col("instantTime") >= since
        if completed_after:
            is_meant &= F.col("completionTime") > completed_after
        for group in divide_files(self._list_archive_files(since)):
            rows = self._read_archive(group, NAME_COLUMNS).where(is_meant)
            if most is not None:
                rows = rows.orderBy("instantTime").limit(most - len(found))
            found += [Instant(row[0], row[2], row[1] or "", archived=True) for row in rows.collect()]
            if len(found) == most:
                break
        return sorted(found)

    def find_last_archived(self, since: str) -> str:
        """See `TimelineReader.find_last_archived`."""
        with explained_lake(self._path):
            if not self._has_archive_files:
                listed = _list_instants(self._archived, archived=True)
                return max((i.completed for i in listed if i.is_commit), default="")
            manifest, known = self._read_manifest(), self._last_by_file
            # Hudi never changes a file: it adds small ones, and merges them into others.
            for name in known.keys() - {file.name for file in manifest}:
                known.pop(name, None)
            files = select_files(manifest, since)
            found = {file.name: last for file in files if (last := known.get(file.name)) is not None}
            missing = [file for file in files if file.name not in found]
            if missing:
                found |= self._find_last_by_file(missing)
                known |= found
            return max(found.values(), default="")

    def _find_last_by_file(self, files: Sequence[StoredFile]) -> dict[str, str]:
        rows = self._read_archive(files, NAME_COLUMNS).where(F.col("action").isin(*WRITES))
        last = rows.groupBy(F.input_file_name()).agg(F.max("completionTime")).collect()
        found = {str(row[0]).rpartition("/")[2]: row[1] or "" for row in last}
        return {file.name: found.get(file.name, "") for file in files}

    def _read_archive(self, files: Sequence[StoredFile], columns: Sequence[str]) -> DataFrame:
        paths = [f"{self._archive_folder}/{file.path}" for file in files]
        # Whatever the session is set to: events of a commit that is left out would never be read.
        reader = self._spark.read.options(ignoreMissingFiles=False, ignoreCorruptFiles=False)
        return reader.schema(_ARCHIVE_SCHEMA).parquet(*paths).select(*columns)

    def read_extra_metadata(self, instants: Sequence[Instant]) -> Mapping[Instant, Mapping[str, str]]:
        """See `TimelineReader.read_extra_metadata`."""
        archived = sorted(instant for instant in instants if instant.archived)
        with explained_lake(self._path):
            if archived and self._has_archive_files:
                active = self._read_commits(instant for instant in instants if not instant.archived)
                return active | self._read_archived(archived)
            if not archived:
                return self._read_commits(instants)
            span = find_just_before(archived[0].requested), archived[-1].requested
            self._archived.loadCompletedInstantDetailsInMemory(*span)
            found = self._read_commits(instants)
            self._archived.clearInstantDetailsFromMemory(*span)
            return found

    def _read_commits(self, instants: Iterable[Instant]) -> dict[Instant, Mapping[str, str]]:
        return {i: self._java.read_map(self._read_commit(i).getExtraMetadata()) for i in instants}

    def _read_archived(self, instants: Sequence[Instant]) -> dict[Instant, Mapping[str, str]]:
        first, last = instants[0].requested, instants[-1].requested
        files = self._list_archive_files(first, last)
        if not files:
            raise LakeError(f"{self._path}: commit {first} is not on the timeline")
        rows = self._read_archive(files, ("instantTime", "action", "metadata"))
        rows = rows.where(F.col("instantTime").between(first, last))
        contents = {(row[0], row[1]): bytes(row[2] or b"") for row in rows.collect()}
        return {i: self._decode(contents.get((i.requested, i.action), b""), i) for i in instants}

    def _decode(self, content: bytes, instant: Instant) -> Mapping[str, str]:
        metadata = decode_metadata(self._path, instant, content)
        if isinstance(metadata, LakeError):
            raise metadata
        return dict(metadata.get("extraMetadata") or {})

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
    def _archive_folder(self) -> str:
        properties = TableProperties(self.read_properties())
        folders = properties.read("timeline_path", "timeline"), properties.read("history_path", "history")
        return "/".join((self._path, TABLE_METADATA_FOLDER, *folders))

    @cached_property
    def _has_archive_files(self) -> bool:
        # Before Hudi 1.0, the archive was another kind of file.
        return TableProperties(self.read_properties()).read_number("layout_version", 0) == LAYOUT

    def _list_archive_files(self, since: str, until: str = "") -> list[StoredFile]:
        return select_files(self._read_manifest(), since, until)

    def _read_manifest(self) -> list[StoredFile]:
        """List the current files, which Hudi replaces when it archives more."""
        version = read_file_if_there(self._spark, f"{self._archive_folder}/{VERSION_FILE}")
        name = find_manifest(version or b"")
        if name is None:
            return []
        return parse_manifest(read_file(self._spark, f"{self._archive_folder}/{name}"))

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
