"""A table's timeline, active and archived, with what its actions say of themselves."""

import io
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, cast

from headwater.errors import LakeError, TableUnsupportedError
from headwater.lake.inspection.folder import TableFolder
from headwater.lake.inspection.instants import Instant, build_instants
from headwater.lake.layout import TableAddress
from headwater.lake.options import TABLE_METADATA_FOLDER

_LAYOUT = 2
_AVRO = b"Obj\x01"

Metadata = Mapping[str, Any]


class TableTimeline:
    """One look at a timeline. Every method raises `TableNotFoundError`, `TableUnsupportedError` for a table
    older than version 8, and `LakeError`."""

    def __init__(self, address: TableAddress) -> None:
        self.folder = TableFolder(address)

    @cached_property
    def _path(self) -> str:
        properties = self.folder.properties
        if properties.read_number("layout_version", _LAYOUT) < _LAYOUT:
            version = properties.read("table_version", "unknown")
            raise TableUnsupportedError(
                f"{self.folder.address.path}: only Spark can read a timeline of table version {version}",
                hint="Hudi 1.x writes it as version 9 after an upgrade",
            )
        return f"{TABLE_METADATA_FOLDER}/{properties.read('timeline_path', 'timeline')}"

    @cached_property
    def zone(self) -> str:
        """`UTC` or `LOCAL`: whose clock the instants are of."""
        return self.folder.properties.read("timezone", "LOCAL").upper()

    @cached_property
    def active(self) -> list[Instant]:
        """Actions that have not been archived, in order of request."""
        return build_instants(self.folder.list_files(self._path))

    @cached_property
    def archived(self) -> list[Instant]:
        """Actions that have left the active timeline, in order of request. Reads the whole archive."""
        return self._load_archived(["instantTime", "completionTime", "action", "metadata"])

    @cached_property
    def archived_names(self) -> list[Instant]:
        """As `archived`, without what they say: a small part of the bytes."""
        return self._load_archived(["instantTime", "completionTime", "action"])

    @cached_property
    def completed_writes(self) -> list[Instant]:
        """Of the active timeline, in order of completion."""
        return sort_by_completion(i for i in self.active if i.state == "completed" and i.is_write)

    def read_metadata(self, instants: Iterable[Instant]) -> dict[Instant, Metadata | LakeError]:
        """What each completed action says it has done; what cannot be read is its error."""
        wanted = list(instants)
        paths = {i: i.files["completed"].path for i in wanted if "completed" in i.files}
        contents = self.folder.read_all(list(paths.values()))
        return {i: self._decode(contents[paths[i]] if i in paths else i.content, i) for i in wanted}

    def read_plans(self, instants: Iterable[Instant]) -> dict[Instant, Metadata | LakeError | None]:
        """What each action was going to do; None where that was not written down."""
        wanted = list(instants)
        paths = {i: path for i in wanted if (path := _find_plan(i))}
        contents = self.folder.read_all(list(paths.values()))
        return {i: self._decode(contents[paths[i]], i) if i in paths else None for i in wanted}

    def _decode(self, content: bytes | LakeError | None, instant: Instant) -> Metadata | LakeError:
        where = f"{self.folder.address.path}: {instant.action} {instant.requested}"
        if isinstance(content, LakeError):
            return LakeError(f"{where} cannot be read: {content.message}", hint=content.hint)
        try:
            return decode_metadata(content or b"")
        # Damaged Avro ends in errors of every kind.
        except Exception as error:
            reason = str(error) or type(error).__name__
            return LakeError(
                f"{where} cannot be read: {reason}",
                hint="its file on the timeline is damaged; Hudi stumbles over it, too",
            )

    def _load_archived(self, columns: list[str]) -> list[Instant]:
        rows = (row for path in self._archive_files for row in self._read_archive(path, columns))
        # Archival writes the archive first, and then takes the files away.
        active = {(i.requested, i.action) for i in self.active}
        return sorted(
            _build_archived(row) for row in rows if (row["instantTime"], row["action"]) not in active
        )

    @cached_property
    def _archive_files(self) -> list[str]:
        history = f"{self._path}/{self.folder.properties.read('history_path', 'history')}"
        version = (self.folder.read_if_there(f"{history}/_version_") or b"").strip()
        if not version.isdigit():
            return []
        manifest = self.folder.read(f"{history}/manifest_{int(version)}")
        with self.folder.reader.explained():
            return [f"{history}/{file['fileName']}" for file in json.loads(manifest)["files"]]

    def _read_archive(self, path: str, columns: list[str]) -> list[dict[str, Any]]:
        from pyarrow import parquet

        content = io.BytesIO(self.folder.read(path))
        with self.folder.reader.explained():
            return cast("list[dict[str, Any]]", parquet.read_table(content, columns=columns).to_pylist())


def decode_metadata(content: bytes) -> Metadata:
    """An action's file as a mapping: an Avro container with one record. Raises errors of every kind."""
    import fastavro

    if not content:
        raise ValueError("its file is empty")
    if not content.startswith(_AVRO):
        raise ValueError("its file is no Avro")
    return cast("Metadata", next(iter(fastavro.reader(io.BytesIO(content)))))


def sort_by_completion(instants: Iterable[Instant]) -> list[Instant]:
    """Oldest first."""
    return sorted(instants, key=lambda instant: (instant.completed, instant.requested))


def _find_plan(instant: Instant) -> str | None:
    # A service plans when it is requested, a write when it begins; the other file is there and empty.
    files = (instant.files.get("requested"), instant.files.get("inflight"))
    return next((file.path for file in files if file and file.size), None)


def _build_archived(row: dict[str, Any]) -> Instant:
    return Instant(
        requested=row["instantTime"],
        action=row["action"],
        completed=row["completionTime"] or "",
        archived=True,
        content=row.get("metadata"),
    )
