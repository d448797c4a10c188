"""The versions of a view's metadata: `vN.metadata.json`, and `version-hint.text` with the newest N.

Readers of Iceberg find a table without a catalog by these names, as Hadoop tables.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pyiceberg.exceptions import ValidationError
from pyiceberg.manifest import read_manifest_list
from pyiceberg.table.metadata import TableMetadataUtil, TableMetadataV2
from pyiceberg.table.snapshots import Snapshot

from headwater.errors import IcebergViewError
from headwater.lake.file_store import FileStore
from headwater.lake.iceberg_view.store_io import StoreIO

METADATA_FOLDER = "metadata"
REQUESTED, COMPLETED = "headwater.requested", "headwater.completed"
"""Properties of a snapshot: the times of the commit that it shows."""
ROWS = "total-records"
_HINT = f"{METADATA_FOLDER}/version-hint.text"
_KEPT_VERSIONS = 10
_KEPT_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class ViewVersion:
    """One version of a view, whose only snapshot shows the commit with these times, and has `rows`."""

    number: int
    metadata: TableMetadataV2
    snapshot: Snapshot
    requested: str
    completed: str
    rows: int


class ViewVersions:
    """Reads and writes the versions of one view. Raises `LakeError`, and `IcebergViewError` for metadata of
    another program."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._io = StoreIO(store)
        self._references: dict[int, frozenset[str]] = {}

    def find_newest(self) -> ViewVersion | None:
        """Return the newest version; None without a view."""
        hint = self._store.read_if_there(_HINT)
        if hint is None or not hint.strip().isdigit():
            return None
        return self._read(int(hint))

    def write(self, number: int, metadata: TableMetadataV2) -> None:
        """Write a version and make it the newest one."""
        # Readers start at the hint: a kill before it leaves the previous version.
        self._store.write(build_name(number), metadata.model_dump_json(exclude_none=True).encode())
        self._store.write(_HINT, str(number).encode())

    def clean(self, number: int, *, at_once: bool = False) -> int:
        """Delete metadata files that the versions up to a number no longer need; return how many.

        The last ones stay for queries that are being planned, and so do recent files, which another process
        may be about to name. `at_once` keeps the newest version only.
        """
        first = number if at_once else max(1, number - _KEPT_VERSIONS + 1)
        needed = {_HINT}.union(*map(self._list_references, range(first, number + 1)))
        self._references = {one: found for one, found in self._references.items() if one >= first}
        latest = datetime.now(timezone.utc) - _KEPT_FOR
        unneeded = [
            path
            for path, modified in self._store.list_modified(METADATA_FOLDER).items()
            if path not in needed and (at_once or modified < latest)
        ]
        for path in unneeded:
            self._store.delete(path)
        return len(unneeded)

    def remove(self) -> None:
        """Delete all metadata files, the hint first."""
        self._store.delete(_HINT)
        for file in self._store.list_files(METADATA_FOLDER):
            self._store.delete(file.path)

    def _read(self, number: int) -> ViewVersion | None:
        content = self._store.read_if_there(build_name(number))
        if content is None:
            return None
        try:
            metadata = TableMetadataUtil.parse_raw(content.decode())
        except (ValidationError, ValueError) as error:
            raise self._build_unreadable(number, str(error).partition("\n")[0]) from error
        snapshot = metadata.current_snapshot()
        summary = snapshot.summary if snapshot else None
        if not isinstance(metadata, TableMetadataV2) or snapshot is None or summary is None:
            raise self._build_unreadable(number, "it has no snapshot")
        requested, completed, rows = (summary[name] or "" for name in (REQUESTED, COMPLETED, ROWS))
        if not requested or not completed or not rows.isdecimal():
            raise self._build_unreadable(number, "its snapshot is not of headwater")
        return ViewVersion(number, metadata, snapshot, requested, completed, int(rows))

    def _build_unreadable(self, number: int, reason: str) -> IcebergViewError:
        return IcebergViewError(
            f"{self._store.url}/{build_name(number)}: cannot read the metadata of the Iceberg view: {reason}",
            hint="delete the folder; the next update creates it",
        )

    def _list_references(self, number: int) -> frozenset[str]:
        """Return the paths of the metadata files that a version needs; empty if it does not exist."""
        if number not in self._references:
            try:
                self._references[number] = self._read_references(number)
            except FileNotFoundError:
                return frozenset()
        return self._references[number]

    def _read_references(self, number: int) -> frozenset[str]:
        version = self._read(number)
        if version is None:
            return frozenset()
        listed = version.snapshot.manifest_list
        manifests = read_manifest_list(self._io.new_input(listed))
        addresses = [listed, *(manifest.manifest_path for manifest in manifests)]
        start = len(self._store.url) + 1
        return frozenset((build_name(number), *(address[start:] for address in addresses)))


def build_name(number: int) -> str:
    """Return the path of a version's metadata file below the folder of the view."""
    return f"{METADATA_FOLDER}/v{number}.metadata.json"
