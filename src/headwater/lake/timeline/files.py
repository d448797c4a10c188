"""Reads a timeline from its files in the layout of Hudi 1.0: names hold actions, states and times."""

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headwater.config.azure_account import AZURE_SCHEMES
from headwater.errors import LakeError
from headwater.lake.options import TABLE_METADATA_FOLDER
from headwater.lake.properties import TableProperties
from headwater.lake.table_files import StoredFile, TableFiles
from headwater.lake.timeline.file_layout import (
    NAME_COLUMNS,
    VERSION_FILE,
    Metadata,
    decode_metadata,
    find_manifest,
    parse_manifest,
    select_files,
)
from headwater.lake.timeline.instants import Instant, build_instants, is_unfilled
from headwater.lake.timeline.timeline import Timeline

if TYPE_CHECKING:
    import pyarrow as pa

# Threads hide the latency of object stores; local disks are not slowed down.
_READERS = 16


class FileReader:
    """A `TimelineReader` for files. Its methods also raise the errors of `files`.

    `known` are requested times; completed writes with other times are ignored, as newer than a snapshot.
    """

    def __init__(
        self,
        path: str,
        files: TableFiles,
        properties: TableProperties,
        known: Collection[str] | None = None,
    ) -> None:
        self._path = path
        self._files = files
        self._known = known
        self._properties = properties
        self._contents: dict[str, bytes] = {}
        self._folder = f"{TABLE_METADATA_FOLDER}/{properties.read('timeline_path', 'timeline')}"

    def exists(self) -> bool:
        """See `TimelineReader.exists`."""
        return bool(self._properties.read("name"))

    def read_properties(self) -> Mapping[str, str]:
        """See `TimelineReader.read_properties`."""
        return self._properties.raw

    def list_active(self) -> list[Instant]:
        """See `TimelineReader.list_active`."""
        sizes = self._files.list_sizes(self._folder)
        if self._path.startswith(AZURE_SCHEMES):
            sizes = {name: size for name, size in sizes.items() if not is_unfilled(name, size)}
        found = build_instants(StoredFile(f"{self._folder}/{name}", size) for name, size in sizes.items())
        known = self._known
        return [i for i in found if known is None or not i.is_commit or i.requested in known]

    def list_archived(
        self, since: str = "", completed_after: str = "", most: int | None = None
    ) -> list[Instant]:
        """See `TimelineReader.list_archived`."""
        import pyarrow.compute as pc

        found: list[Instant] = []
        is_meant = pc.field("instantTime") >= since
        if completed_after:
            is_meant &= pc.field("completionTime") > completed_after
        for table in self._read_archive(NAME_COLUMNS, since):
            rows = table.filter(is_meant).sort_by("instantTime")
            rows = rows if most is None else rows.slice(0, most - len(found))
            found += [_build_archived(row) for row in rows.to_pylist()]
            if len(found) == most:
                break
        return found

    def find_last_archived(self, since: str) -> str:
        """See `TimelineReader.find_last_archived`."""
        rows = (row for table in self._read_archive(NAME_COLUMNS, since) for row in table.to_pylist())
        return max((i.completed for i in map(_build_archived, rows) if i.is_commit), default="")

    def read_extra_metadata(self, instants: Sequence[Instant]) -> dict[Instant, Mapping[str, str]]:
        """See `TimelineReader.read_extra_metadata`."""
        return {i: dict(m.get("extraMetadata") or {}) for i, m in self._read_readable(instants).items()}

    def count_deletes(self, instant: Instant) -> int:
        """See `TimelineReader.count_deletes`."""
        written = self._read_readable([instant])[instant].get("partitionToWriteStats") or {}
        return sum(stat.get("numDeletes") or 0 for stats in written.values() for stat in stats)

    def _read_readable(self, instants: Sequence[Instant]) -> dict[Instant, Metadata]:
        found = {}
        for instant, metadata in self.read_metadata(instants).items():
            if isinstance(metadata, LakeError):
                raise metadata
            found[instant] = metadata
        return found

    def read_metadata(self, instants: Iterable[Instant]) -> dict[Instant, Metadata | LakeError]:
        """Return the metadata of each completed action, or an error if unreadable."""
        return self._read_all(instants, "metadata", lambda i: i.files.get("completed"), default=b"")

    def read_plans(self, instants: Iterable[Instant]) -> dict[Instant, Metadata | LakeError | None]:
        """Return the plan of each action, an error if unreadable, or None if there is no plan."""
        return self._read_all(instants, "plan", _find_plan, default=None)

    def find_earliest_retained(self, instants: Iterable[Instant]) -> str:
        """Return the requested time of the oldest commit that the latest clean retains; empty without cleans.

        Includes cleans that have only been requested, because they may delete files at any moment.
        """
        for clean in sorted((i for i in instants if i.action == "clean"), reverse=True):
            plan = self.read_plans([clean])[clean]
            if isinstance(plan, LakeError):
                raise plan
            if plan is not None:
                earliest = plan.get("earliestInstantToRetain")
                # Only cleaning by commits records it. For other policies, only later snapshots are complete.
                return str(earliest["timestamp"]) if earliest else clean.requested
        return ""

    def _read_all(
        self,
        instants: Iterable[Instant],
        column: str,
        find: Callable[[Instant], StoredFile | None],
        *,
        default: bytes | None,
    ) -> dict[Instant, Any]:
        wanted = list(instants)
        paths = {i: file.path for i in wanted if (file := find(i))}
        with ThreadPoolExecutor(_READERS) as threads:
            contents = dict(zip(paths, threads.map(self._try_read, paths.values()), strict=True))
        archived = [i for i in wanted if i.archived]
        found = {**self._read_archived(archived, column), **contents}
        return {i: self._decode(found.get(i) or default, i) for i in wanted}

    def _try_read(self, path: str) -> bytes | LakeError:
        try:
            return self._files.read(path)
        except LakeError as error:
            return error

    def _read_archived(self, instants: Sequence[Instant], column: str) -> dict[Instant, bytes]:
        if not instants:
            return {}
        wanted = {(i.requested, i.action): i for i in instants}
        tables = self._read_archive((*NAME_COLUMNS, column), min(instants).requested)
        rows = (row for table in tables for row in table.to_pylist())
        found = {(row["instantTime"], row["action"]): row[column] for row in rows if row[column]}
        return {wanted[key]: content for key, content in found.items() if key in wanted}

    def _decode(self, content: bytes | LakeError | None, instant: Instant) -> Metadata | LakeError | None:
        if content is None:
            return None
        if isinstance(content, LakeError):
            where = f"{self._path}: {instant.action} {instant.requested}"
            return LakeError(f"{where} cannot be read: {content.message}", hint=content.hint)
        return decode_metadata(self._path, instant, content)

    def _read_archive(self, columns: Sequence[str], since: str) -> "Iterator[pa.Table]":
        """Yield the files that may have actions requested since then, in order of request."""
        from pyarrow import parquet

        try:
            for file in select_files(self.list_archive_files()[2:], since):
                content = self._contents.get(file.path) or self._files.read(file.path)
                self._contents[file.path] = content
                yield parquet.read_table(io.BytesIO(content), columns=list(columns))
        except (ValueError, KeyError) as error:
            raise LakeError(f"{self._path}: cannot read a timeline file: {error}") from error

    def list_archive_files(self) -> list[StoredFile]:
        """List the files of the archive's latest version: the one that names the version, the manifest, and
        the files of the manifest. Other files there have been merged into newer ones. Empty for no archive.
        """
        return self._archive_files

    @cached_property
    def _archive_files(self) -> list[StoredFile]:
        folder = f"{self._folder}/{self._properties.read('history_path', 'history')}"
        sizes = self._files.list_sizes(folder)
        if VERSION_FILE not in sizes:
            return []
        name = find_manifest(self._files.read(f"{folder}/{VERSION_FILE}"))
        if name is None:
            return []
        files = parse_manifest(self._files.read(f"{folder}/{name}"))
        names = [VERSION_FILE, name, *(file.path for file in files)]
        return [StoredFile(f"{folder}/{name}", sizes.get(name, 0)) for name in names]


class FileTimeline(Timeline):
    """A timeline read from files, with more details per action than Hudi's own readers provide."""

    def __init__(self, reader: FileReader) -> None:
        super().__init__(reader)
        self._files = reader

    def read_metadata(self, instants: Iterable[Instant]) -> dict[Instant, Metadata | LakeError]:
        """Return the metadata of each completed action, or an error if unreadable."""
        return self._files.read_metadata(instants)

    def read_plans(self, instants: Iterable[Instant]) -> dict[Instant, Metadata | LakeError | None]:
        """Return the plan of each action, an error if unreadable, or None if there is no plan."""
        return self._files.read_plans(instants)

    def list_archive_files(self) -> list[StoredFile]:
        """See `FileReader.list_archive_files`."""
        return self._files.list_archive_files()

    def find_earliest_retained(self, *, archived: bool = False) -> str:
        """Return the requested time of the oldest commit that the latest clean retains; empty without cleans.

        `archived` falls back to archived cleans if the active timeline has none.
        """
        found = self._files.find_earliest_retained(self.active)
        return found or (self._files.find_earliest_retained(self.archived) if archived else "")


def _find_plan(instant: Instant) -> StoredFile | None:
    # A service writes its plan when requested, a write when it starts; the other file is empty.
    files = (instant.files.get("requested"), instant.files.get("inflight"))
    return next((file for file in files if file and file.size), None)


def _build_archived(row: Mapping[str, Any]) -> Instant:
    return Instant(row["instantTime"], row["action"], row["completionTime"] or "", archived=True)
