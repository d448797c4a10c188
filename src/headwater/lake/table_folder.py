"""Reads the files of one table, in a folder or an object store, without a JVM."""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hudi import HudiFileGroupReader, HudiReadOptions

from headwater.errors import LakeError
from headwater.lake.layout import TableAddress
from headwater.lake.options import TABLE_METADATA_FOLDER, TABLE_NAME_PROPERTY, TABLE_PROPERTIES_FILE
from headwater.lake.properties import TableProperties, parse_properties
from headwater.lake.snapshot_reader import SnapshotReader, build_absence, check_readable, to_uri
from headwater.lake.table_files import StoredFile, open_file_system

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import FileMetaData

# Threads hide the latency of object stores; local disks are not slowed down.
_READERS = 16


class TableFolder:
    """The current files of a table. All methods raise `TableNotFoundError` without a table, and
    `LakeError`."""

    def __init__(self, address: TableAddress) -> None:
        self.address = address
        self.reader = SnapshotReader(address.path, address.storage_options)

    @cached_property
    def _location(self) -> "tuple[FileSystem, str]":
        check_readable(self.address.path)
        with self.reader.explained():
            system, root = open_file_system(to_uri(self.address.path), self.address.storage_options)
            return system, root.rstrip("/")

    @cached_property
    def properties(self) -> TableProperties:
        """The table's properties."""
        return TableProperties(parse_properties(self.properties_content.decode("utf-8", "replace")))

    @cached_property
    def properties_content(self) -> bytes:
        """The file of the table's properties."""
        for path in (TABLE_PROPERTIES_FILE, f"{TABLE_PROPERTIES_FILE}.backup"):
            # While Hudi updates the properties, only their backup exists.
            content = self.read_if_there(path)
            if content and TABLE_NAME_PROPERTY in parse_properties(content.decode("utf-8", "replace")):
                return content
        # Let hudi-rs distinguish an absent bucket from an absent table.
        self.reader.exists()
        raise build_absence(self.address.path)

    def read(self, path: str) -> bytes:
        """Read a file completely."""
        system, root = self._location
        with self.reader.explained(), system.open_input_file(f"{root}/{path}") as file:
            content: bytes = file.read()
            return content

    def read_if_there(self, path: str) -> bytes | None:
        """Read a file completely; None if it does not exist."""
        from pyarrow.fs import FileType

        system, root = self._location
        with self.reader.explained():
            if system.get_file_info(f"{root}/{path}").type != FileType.File:
                return None
        return self.read(path)

    def list_sizes(self, folder: str) -> dict[str, int]:
        """See `TableFiles.list_sizes`."""
        return {file.name: file.size for file in self.list_files(folder)}

    def list_files(self, folder: str, *, recursive: bool = False) -> list[StoredFile]:
        """List the files of a folder relative to the table; empty for an absent folder."""
        from pyarrow.fs import FileSelector, FileType

        system, root = self._location
        selector = FileSelector(f"{root}/{folder}".rstrip("/"), allow_not_found=True, recursive=recursive)
        with self.reader.explained():
            found = system.get_file_info(selector)
        start = len(root) + 1
        return [StoredFile(file.path[start:], file.size) for file in found if file.type == FileType.File]

    def list_data_files(self) -> list[StoredFile]:
        """List all files outside Hudi's metadata folder."""
        # A metadata table can have more files than the table itself.
        return self.list_except("", {TABLE_METADATA_FOLDER})

    def list_except(self, folder: str, skipped: Collection[str]) -> list[StoredFile]:
        """List all files below a folder relative to the table, except in subfolders of these names."""
        from pyarrow.fs import FileSelector, FileType

        system, root = self._location
        with self.reader.explained():
            top = system.get_file_info(FileSelector(f"{root}/{folder}".rstrip("/"), allow_not_found=True))
        start = f"{folder}/" if folder else ""
        files = [
            StoredFile(f"{start}{entry.base_name}", entry.size)
            for entry in top
            if entry.type == FileType.File
        ]
        folders = [
            f"{start}{entry.base_name}"
            for entry in top
            if entry.type == FileType.Directory and entry.base_name not in skipped
        ]
        return files + [file for name in folders for file in self.list_files(name, recursive=True)]

    def count_file_rows(self, paths: Sequence[str]) -> dict[str, int | None]:
        """Return row counts of base files from their footers, reading files in parallel; None if unknown."""

        def count(path: str) -> int | None:
            system, root = self._location
            try:
                with system.open_input_file(f"{root}/{path}") as file:
                    return _count_rows(path, file)
            except (OSError, ValueError):  # a file that is corrupt or was just cleaned
                return None

        with ThreadPoolExecutor(_READERS) as threads:
            return dict(zip(paths, threads.map(count, paths), strict=True))

    def read_footers(self, paths: Sequence[str]) -> "dict[str, FileMetaData | None]":
        """Read Parquet footers in parallel; None for other formats and corrupt files."""
        from pyarrow import parquet

        def load(path: str) -> "FileMetaData | None":
            system, root = self._location
            try:
                with system.open_input_file(f"{root}/{path}") as file:
                    return parquet.read_metadata(file) if path.endswith(".parquet") else None
            except (OSError, ValueError):  # as above
                return None

        with ThreadPoolExecutor(_READERS) as threads:
            return dict(zip(paths, threads.map(load, paths), strict=True))

    def count_merged_rows(self, base: str, logs: Sequence[str]) -> int | None:
        """Count the rows of a file slice by merging logs with the base file, if any; None if unreadable."""
        try:
            with self.reader.explained():
                batch = self._merging_reader.read_file_slice_from_paths(
                    base, list(logs), HudiReadOptions(projection=[])
                )
                return int(batch.num_rows)
        except LakeError:
            return None

    @cached_property
    def _merging_reader(self) -> HudiFileGroupReader:
        return self.reader.hudi_table.create_file_group_reader_with_options()


def _count_rows(path: str, file: Any) -> int | None:
    from pyarrow import orc, parquet

    if path.endswith(".parquet"):
        return int(parquet.ParquetFile(file).metadata.num_rows)
    return int(orc.ORCFile(file).nrows) if path.endswith(".orc") else None
