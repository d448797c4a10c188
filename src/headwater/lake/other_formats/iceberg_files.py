"""Iceberg's metadata files: which one is current, and what it records. Without a JVM."""

import gzip
import json
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from headwater.errors import LakeError, TableNotFoundError
from headwater.lake.other_formats.history import History, VersionTime
from headwater.lake.table_files import TableFiles

METADATA_FOLDER = "metadata"
METADATA_ENDING = ".metadata.json"
# `v3.metadata.json` of a table in a folder, `00003-<uuid>.metadata.json` of a table in a catalog.
_UNKNOWN = -1
"""Schema of a table whose writer did not record schemas: no snapshot has it."""
_METADATA = re.compile(r"(?:v(\d+)|(\d+)-[^.]+)(?:\.gz)?\.metadata\.json(?:\.gz)?")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot; `schema_id` is None if its writer did not record one.

    `has_delete_files` if deleted rows are recorded in files of their own, or if that is unknown.
    """

    version: str
    parent: str
    committed_at: datetime
    schema_id: int | None
    has_delete_files: bool


@dataclass(frozen=True, slots=True)
class Metadata:
    """One metadata file: the snapshots from which the current one resulted, oldest first.

    `schema_id` is that of the table's current columns, None if there is only one.
    """

    table_id: str
    snapshots: tuple[Snapshot, ...]
    schema_id: int | None

    @property
    def history(self) -> History:
        """Return the versions of the table."""
        return History(self.table_id, tuple(snapshot.version for snapshot in self.snapshots))


def find_newest(names: Collection[str]) -> str | None:
    """Return the name of the newest metadata file; None without any.

    Of two files with the highest number, one was not committed, and which one only their successor says.
    The previous file is then the newest.
    """
    numbered: dict[int, list[str]] = {}
    for name in names:
        if match := _METADATA.fullmatch(name):
            numbered.setdefault(int(match[1] or match[2]), []).append(name)
    certain = [number for number, found in numbered.items() if len(found) == 1]
    return numbered[max(certain)][0] if certain else None


def parse_metadata(path: str, content: bytes) -> Metadata:
    """Parse a metadata file. Raises `LakeError`."""
    try:
        given = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        by_id = {snapshot.version: snapshot for snapshot in map(_parse_snapshot, given.get("snapshots", []))}
        table_id = str(given.get("table-uuid") or given["location"])
        current = given.get("current-snapshot-id")
        schemas = given.get("schemas")
        schema_id = None if schemas and len(schemas) == 1 else given.get("current-schema-id", _UNKNOWN)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, zlib.error) as error:
        raise LakeError(
            f"{path} is not a metadata file of an Iceberg table: {error!r}",
            hint="correct `from: {iceberg: ...}`: the folder that contains `metadata`, or its newest file",
        ) from error
    return Metadata(table_id, _list_ancestors(by_id, str(current)), schema_id)


def _parse_snapshot(given: Mapping[str, Any]) -> Snapshot:
    summary = given.get("summary", {})
    return Snapshot(
        str(given["snapshot-id"]),
        str(given.get("parent-snapshot-id", "")),
        datetime.fromtimestamp(given["timestamp-ms"] / 1000, timezone.utc),
        given.get("schema-id"),
        summary.get("total-delete-files") != "0",
    )


def _list_ancestors(by_id: Mapping[str, Snapshot], current: str) -> tuple[Snapshot, ...]:
    found: list[Snapshot] = []
    while current in by_id and len(found) < len(by_id):
        found.append(by_id[current])
        current = by_id[current].parent
    return tuple(reversed(found))


def build_absence(path: str) -> TableNotFoundError:
    """Build the error for an address without an Iceberg table."""
    return TableNotFoundError(
        f"there is no Iceberg table at {path}",
        hint="correct `from: {iceberg: ...}`: the address of the folder that contains `metadata`",
    )


def split_address(path: str) -> tuple[str, str]:
    """Return the folder of a table, and the name of the metadata file if the address is one, else empty."""
    if not path.endswith(METADATA_ENDING):
        return path, ""
    folder, _, name = path.rpartition("/")
    return folder.removesuffix(f"/{METADATA_FOLDER}"), name


class IcebergVersions:
    """`VersionReader` of an Iceberg table; `files` are those of its folder."""

    def __init__(self, path: str, files: TableFiles) -> None:
        self._path = path
        self._files = files
        self._metadata: Metadata | None = None

    def exists(self) -> bool:
        """See `VersionReader.exists`."""
        return self._load() is not None

    def list_versions(self) -> tuple[str, ...]:
        """See `VersionReader.list_versions`."""
        metadata = self._load()
        return metadata.history.versions if metadata else ()

    def find_time(self, version: str) -> VersionTime:
        """See `VersionReader.find_time`."""
        metadata = self._load()
        found = (
            {snapshot.version: snapshot.committed_at for snapshot in metadata.snapshots} if metadata else {}
        )
        return VersionTime(version, found.get(version))

    def _load(self) -> Metadata | None:
        if self._metadata is None:
            names = self._files.list_sizes(METADATA_FOLDER)
            given = split_address(self._path)[1]
            name = (given if given in names else None) if given else find_newest(names)
            if name is not None:
                path = f"{METADATA_FOLDER}/{name}"
                self._metadata = parse_metadata(f"{self._path}/{path}", self._files.read(path))
        return self._metadata
