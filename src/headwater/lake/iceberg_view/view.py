"""`IcebergView`: brings the Iceberg view of one table to the newest state of its base files."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
from pyiceberg.manifest import ManifestFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotLogEntry, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from headwater.errors import IcebergViewError, LakeError, TableUnsupportedError
from headwater.lake.file_store import FileStore
from headwater.lake.iceberg_view.columns import build_name_mapping, build_schema, is_evolution, is_shown
from headwater.lake.iceberg_view.data_files import DataFiles
from headwater.lake.iceberg_view.manifests import Manifests
from headwater.lake.iceberg_view.store_io import StoreIO
from headwater.lake.iceberg_view.table_state import TableState, find_newest_state
from headwater.lake.iceberg_view.versions import (
    COMPLETED,
    METADATA_FOLDER,
    REQUESTED,
    ROWS,
    ViewVersion,
    ViewVersions,
)
from headwater.lake.inspection.layout import CompletionTimes, FileSlice, read_slices
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.snapshot_reader import to_uri
from headwater.lake.timeline.instants import Instant
from headwater.observability.crash_points import crash_point

_TRIES = 3
_REMOVALS = frozenset({"clean", "rollback", "restore"})
"""Actions that delete files."""
_NAME_MAPPING = "schema.name-mapping.default"


@dataclass(frozen=True, slots=True)
class ViewUpdate:
    """What an update did. `completed` is the commit that the view shows, `newest` that of the table.

    `added` and `removed` are numbers of data files. `is_changed` is False if the view was up to date.
    """

    completed: str
    newest: str
    added: int = 0
    removed: int = 0
    is_changed: bool = False


class IcebergView:
    """The view of a table, with its metadata below the folder of `store`. Not thread-safe.

    Of several processes that update a view at the same time, the last one decides what it shows. `address`
    has a snapshot of the lake's credentials: replace it before they expire.
    """

    def __init__(self, address: TableAddress, store: FileStore) -> None:
        self.address = address
        self._store = store
        self._manifests = Manifests(StoreIO(store), f"{store.url}/{METADATA_FOLDER}")
        self._versions = ViewVersions(store)

    def update(self, *, at_once: bool = False) -> ViewUpdate | None:
        """Show the newest state that base files represent; None for a table without commits.

        Reads the footers of files that are new in the view. `at_once` also deletes the metadata of previous
        versions, which otherwise stays for a while, for queries that are being planned. Raises
        `IcebergViewError` if the view cannot show the state, and the errors of `TableTimeline`.
        """
        timeline, slices = self._read_slices()
        writes = timeline.completed_writes
        if not writes:
            return None
        _check_readable(timeline)
        times = CompletionTimes(timeline)
        retained = timeline.find_earliest_retained()
        state = find_newest_state(slices, writes, times.find_completion, retained)
        shown = self._versions.find_newest()
        if shown is not None and _is_kept(shown, state, writes):
            self._check_complete(shown, slices)
            done = ViewUpdate(shown.completed, writes[-1].completed)
        else:
            done = self._write(timeline, self._require(state), shown)
        if done.is_changed or at_once:
            newest = self._versions.find_newest()
            self._versions.clean(newest.number if newest else 0, at_once=at_once)
        return done

    def remove(self) -> None:
        """Delete the metadata of the view; the next update creates it."""
        self._versions.remove()

    @property
    def _location(self) -> str:
        return to_uri(self.address.path).rstrip("/")

    def find_shown(self) -> ViewVersion | None:
        """Return the newest version of the view; None without one."""
        return self._versions.find_newest()

    def _read_slices(self) -> tuple[TableTimeline, list[FileSlice]]:
        """Return a timeline and the slices at that time."""
        for _ in range(_TRIES):
            timeline = TableTimeline(self.address)
            slices, _, problems = read_slices(timeline)
            if problems:
                raise LakeError(
                    f"{self.address.path}: cannot determine the files of the newest state: {problems[0]}",
                    hint="`headwater table NAME files` lists all problems",
                )
            # A clean that began since the timeline was read may have removed files of the state before the
            # listing reached them: the view would lack their rows.
            if _list_removals(TableTimeline(self.address)) == _list_removals(timeline):
                return timeline, slices
        raise LakeError(
            f"{self.address.path}: files were removed during each of {_TRIES} listings",
            hint="the next update tries again",
        )

    def _require(self, state: TableState | None) -> TableState:
        if state is not None:
            return state
        raise IcebergViewError(
            f"{self.address.path}: rows of each state are in log files, which Iceberg cannot read",
            hint=f"`headwater table {self.address.name} compact` merges them into base files",
        )

    def _check_complete(self, shown: ViewVersion, slices: Sequence[FileSlice]) -> None:
        """Raise `IcebergViewError` if a query of the view would fail."""
        stored = {f"{self._location}/{one.base_file.path}" for one in slices if one.base_file}
        loaded = self._load_named(shown)
        if loaded is None or loaded[1] - stored:
            raise self._build_incomplete()

    def _build_incomplete(self) -> IcebergViewError:
        return IcebergViewError(
            f"{self.address.path}: files of the commit that the Iceberg view shows were removed, and newer "
            "rows are in log files",
            hint=f"`headwater table {self.address.name} compact` merges them into base files",
        )

    def _load_named(self, shown: ViewVersion | None) -> tuple[list[ManifestFile], set[str]] | None:
        """Return the manifests of a version, and the addresses of the data files that they name; None if they
        do not exist."""
        if shown is None:
            return None
        try:
            manifests = self._manifests.list_manifests(shown.snapshot)
            named = self._manifests.list_files(manifests)
        except FileNotFoundError:
            return None
        return manifests, {file for files in named.values() for file in files}

    def _write(self, timeline: TableTimeline, state: TableState, shown: ViewVersion | None) -> ViewUpdate:
        """Write a version that shows the state, unless the view does."""
        newest = timeline.completed_writes[-1].completed
        # In a copy of a lake, the addresses in the metadata are those of the original.
        is_moved = shown is not None and shown.metadata.location != self._store.url
        loaded = None if is_moved else self._load_named(shown)
        before = None if loaded is None or shown is None else shown.metadata
        schema = _build_next_schema(timeline, before)
        if before is not None and not is_evolution(before.schema(), schema):
            # No reader could read the files of both: all are checked for the new columns.
            before, schema = None, _build_next_schema(timeline, None)
        manifests, named = loaded if before and loaded else ([], set())
        live = {f"{self._location}/{file.path}": file for file in state.files}
        new = [file for address, file in live.items() if address not in named]
        is_same = shown is not None and before is not None and shown.completed == state.completed
        if is_same and before and named == live.keys() and before.schema() == schema:
            return ViewUpdate(state.completed, newest)
        columns = timeline.folder.reader.schema
        hidden = [name for name in columns.names if not is_shown(name)]
        added = DataFiles(timeline.folder, self._location, schema, hidden).build(new)
        draft = _Draft(before, schema, columns, self._store.url)
        written = self._manifests.write(manifests, live.keys(), added, schema, draft.snapshot_id)
        removed = len(named - live.keys())
        counts = {"added": len(added), "removed": removed, "files": len(live), "rows": _count_rows(written)}
        if shown is not None and shown.completed == state.completed and counts["rows"] != shown.rows:
            raise self._build_incomplete()
        listed = self._manifests.write_list(written, draft.snapshot_id, draft.sequence_number)
        crash_point("before_view_version")
        number = 1 if shown is None else shown.number + 1
        self._versions.write(number, draft.build_metadata(listed, state, counts))
        return ViewUpdate(state.completed, newest, len(added), removed, is_changed=True)


def _count_rows(manifests: Iterable[ManifestFile]) -> int:
    return sum((one.added_rows_count or 0) + (one.existing_rows_count or 0) for one in manifests)


class _Draft:
    """The next metadata of a view, after `before`; None for a new table."""

    def __init__(
        self, before: TableMetadataV2 | None, schema: Schema, columns: pa.Schema, location: str
    ) -> None:
        self._before = before
        self._schema = schema
        self._columns = columns
        self._location = location
        # Positive and below 2**63, as Iceberg requires.
        self.snapshot_id = uuid4().int >> 65
        self.sequence_number = before.last_sequence_number + 1 if before else 1

    def build_metadata(
        self, manifest_list: str, state: TableState, counts: Mapping[str, int]
    ) -> TableMetadataV2:
        """Build the metadata with one snapshot."""
        before, schema, now = self._before, self._schema, int(time.time() * 1000)
        last_id = max(schema.highest_field_id, before.last_column_id if before else 0)
        mapping = build_name_mapping(self._columns, schema, last_id)
        snapshot = Snapshot(
            snapshot_id=self.snapshot_id,
            sequence_number=self.sequence_number,
            timestamp_ms=now,
            manifest_list=manifest_list,
            summary=_build_summary(state, counts),
            schema_id=schema.schema_id,
        )
        branch = SnapshotRef(**{"snapshot-id": self.snapshot_id, "type": SnapshotRefType.BRANCH})
        return TableMetadataV2(
            location=self._location,
            table_uuid=before.table_uuid if before else uuid4(),
            last_updated_ms=now,
            last_column_id=last_id,
            schemas=[schema],
            current_schema_id=schema.schema_id,
            partition_specs=[UNPARTITIONED_PARTITION_SPEC],
            default_spec_id=UNPARTITIONED_PARTITION_SPEC.spec_id,
            last_partition_id=UNPARTITIONED_PARTITION_SPEC.last_assigned_field_id,
            sort_orders=[UNSORTED_SORT_ORDER],
            default_sort_order_id=UNSORTED_SORT_ORDER.order_id,
            # Other programs must not delete files that are Hudi's.
            properties={_NAME_MAPPING: mapping, "gc.enabled": "false"},
            last_sequence_number=self.sequence_number,
            snapshots=[snapshot],
            current_snapshot_id=self.snapshot_id,
            snapshot_log=[SnapshotLogEntry(snapshot_id=self.snapshot_id, timestamp_ms=now)],
            refs={MAIN_BRANCH: branch},
        )


def _is_kept(shown: ViewVersion, state: TableState | None, writes: Sequence[Instant]) -> bool:
    """True if the view already shows a later commit of the table, and the newest rows are in log files."""
    is_known = any(one.requested == shown.requested for one in writes)
    return is_known and (state is None or state.completed < shown.completed)


def _build_summary(state: TableState, counts: Mapping[str, int]) -> Summary:
    return Summary(
        Operation.OVERWRITE if counts["removed"] else Operation.APPEND,
        **{
            "added-data-files": str(counts["added"]),
            "deleted-data-files": str(counts["removed"]),
            "total-data-files": str(counts["files"]),
            ROWS: str(counts["rows"]),
            REQUESTED: state.requested,
            COMPLETED: state.completed,
        },
    )


def _build_next_schema(timeline: TableTimeline, before: TableMetadataV2 | None) -> Schema:
    columns = timeline.folder.reader.schema
    if before is None:
        return build_schema(columns, None, 0)
    previous = before.schema()
    schema = build_schema(columns, previous, before.last_column_id)
    if schema == previous:
        return previous
    return Schema(*schema.fields, schema_id=previous.schema_id + 1)


def _list_removals(timeline: TableTimeline) -> Collection[tuple[str, str]]:
    return {(one.requested, one.action) for one in timeline.active if one.action in _REMOVALS}


def _check_readable(timeline: TableTimeline) -> None:
    """Raise `TableUnsupportedError` for a table whose Parquet files lack rows or columns."""
    properties, path = timeline.folder.properties, timeline.folder.address.path
    if properties.read("base_file_format", "parquet").lower() != "parquet":
        raise TableUnsupportedError(
            f"{path}: an Iceberg view needs Parquet files", hint="remove `iceberg` from the table"
        )
    if properties.read_flag("partition_columns_dropped"):
        raise TableUnsupportedError(
            f"{path}: the partition columns are not in the files", hint="remove `iceberg` from the table"
        )
    timeline.folder.reader.check_own_rows()
