"""`Erasure`: suppresses subjects, deletes their rows, removes older files, scans, and writes the report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import structlog

from headwater.app.application import App, read_clock
from headwater.app.erasure.chunks import CHUNKS, ChunksErasure, OpenIndex, open_search_index
from headwater.app.erasure.report import (
    NOT_COVERED,
    ErasureReport,
    Structure,
    format_report,
    judge_scan,
    name_file,
    sign,
)
from headwater.app.iceberg import IcebergViews
from headwater.app.objects.redrive import drain
from headwater.capture.quarantine_reader import QuarantineFilter, QuarantineReader
from headwater.errors import HeadwaterError, UsageError
from headwater.ingest.erasure.rows import erase_rows
from headwater.ingest.planning.lost_rows import LostRows
from headwater.lake.erasure.scanning import Scan, Search, find_in_payload, scan_files
from headwater.lake.erasure.subjects import Secret, SubjectHasher
from headwater.lake.file_store import FileStore
from headwater.lake.layout import find_address, list_tables, quarantine_path
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.cleaning import clean_file_groups
from headwater.lake.services.compaction import compact
from headwater.lake.services.metadata_table import list_metadata_partitions, rebuild_metadata
from headwater.lake.services.savepoints import list_savepoint_files
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options
from headwater.observability.crash_points import crash_point

log = structlog.stdlib.get_logger(__name__)

_QUARANTINE = "quarantine"
_FILES_ONLY = frozenset({"files"})


class Erasure:
    """One erasure from a table and the tables that are derived from it. Raises `HeadwaterError`.

    Every step finds its work by the hashes: an interrupted erasure is repeated.
    """

    def __init__(
        self,
        app: App,
        table: str,
        hasher: SubjectHasher,
        subjects: frozenset[str],
        now: Callable[[], datetime] = read_clock,
        open_index: OpenIndex = open_search_index,
    ) -> None:
        self._open_index = open_index
        self._app = app
        self._table = table
        self._search = Search(((hasher, subjects),))
        self._searches: dict[str, Search] = {}
        self._hasher = hasher
        self._subjects = subjects
        self._now = now

    def plan(self) -> ErasureReport:
        """Return what an erasure would find; writes nothing, and starts no Spark."""
        started = self._now()
        self._check_exists()
        structures = []
        for name in self._list_covered():
            scan = self._scan(name)
            if name == _QUARANTINE:
                scan = replace(scan, found=tuple(one for one in scan.found if not one.unreadable))
            rows = sum(sum(found.rows.values()) for found in scan.found) if name == self._table else 0
            structures.append(_with_scan(Structure(name, rows), scan, {}))
        report = self._build_report(started, structures, self._list_objects())
        found = {"quarantine, log files": "records that were quarantined since may name the keys"}
        if self._app.settings.search is not None:
            found["chunks"] = "a scan without an erasure does not know which chunks are of the keys"
        return replace(report, dry_run=True, not_covered={**report.not_covered, **found})

    def run(self) -> ErasureReport:
        """Erase, and return the signed report, which is also in the lake.

        Call it under the lease of a command.
        """
        started, register = self._now(), self._app.register
        self._check_exists()
        secret = register.ensure_secret()
        entry = register.load(self._table)
        register.save(self._table, entry.suppress(self._hasher.columns, self._subjects))
        crash_point("after_suppression")
        names = self._list_covered()
        chunks = self._find_chunks(secret)
        before = {name: self._scan(name) for name in names}
        structures = self._delete_all(names, chunks)
        if chunks is not None:
            self._searches[CHUNKS] = chunks.build_search()
            before[CHUNKS] = self._scan(CHUNKS)
        structures = {name: self._clean(found, before[name]) for name, found in structures.items()}
        self._clean_views(structures)
        crash_point("after_forget_clean")
        structures = {
            name: _with_scan(found, self._scan(name), self._list_savepoints(name))
            for name, found in structures.items()
        }
        report = self._build_report(started, list(structures.values()), self._list_objects())
        report = sign(replace(report, address=register.find_report(name_file(report))), secret)
        register.write_report(name_file(report), format_report(report))
        return report

    def _delete_all(self, names: Sequence[str], chunks: ChunksErasure | None) -> dict[str, Structure]:
        """Delete from the newest state of all tables.

        Followers read older files of their sources: no file is removed before they are up to date.
        """
        indexed = self._app.settings.search.table if chunks and self._app.settings.search else ""
        structures = {}
        for name in names:
            if name in self._derived:
                continue
            if chunks is not None and name == indexed:
                chunks.record(self._hasher, self._subjects)
            structures[name] = self._delete(name)
        crash_point("after_forget_delete")
        for name in self._derived:
            if chunks is not None and name == indexed:
                chunks.record(self._hasher, self._subjects)
            drain(self._app.build_derived_pipeline(name))
            if name in names:
                structures[name] = self._delete(name)
        if chunks is not None:
            structures[CHUNKS] = chunks.erase()
        return {name: structures[name] for name in (*names, CHUNKS) if name in structures}

    def _find_chunks(self, secret: Secret) -> ChunksErasure | None:
        """Return the chunks, if there are any of a table that has the columns."""
        search = self._app.settings.search
        if search is None or search.table not in self._list_covered() or not self._open(CHUNKS).exists():
            return None
        return ChunksErasure(self._app, search.table, secret, self._open_index)

    @property
    def _derived(self) -> list[str]:
        """The tables derived from the table, directly or not, each after its sources."""
        found = [self._table]
        for name, config in self._app.settings.derived_tables.items():
            if set(config.sources) & set(found):
                found.append(name)
        return found[1:]

    def _list_covered(self) -> list[str]:
        names = [self._table, *self._derived]
        covered = [name for name in names if self._has_columns(name)]
        return [*covered, *([_QUARANTINE] if self._open(_QUARANTINE).exists() else [])]

    def _has_columns(self, name: str) -> bool:
        reader = self._open(name)
        known = {column.lower() for column in reader.schema.names} if reader.exists() else set()
        return all(column.lower() in known for column in self._hasher.columns)

    def _open(self, name: str) -> SnapshotReader:
        address = find_address(self._app.settings, name)
        return SnapshotReader(address.path, address.storage_options)

    def _open_service(self, name: str) -> ServiceTable:
        settings, spark = self._app.settings, self._app.spark
        address, config = find_address(settings, name), settings.tables.get(name)
        return ServiceTable.of(spark, address, config) if config else ServiceTable(spark, address)

    def _scan(self, name: str) -> Scan:
        settings = self._app.settings
        build = partial(build_storage_options, settings.lake, settings.lake_storage)
        store = FileStore(list_tables(settings)[name], build)
        if name == _QUARANTINE:
            return scan_files(store, replace(self._search, payloads_of=self._table))
        cleared = self._app.register.load(name).find_cleared(self._subjects)
        return scan_files(store, self._searches.get(name, replace(self._search, cleared=cleared)))

    def _list_savepoints(self, name: str) -> Mapping[str, frozenset[str]]:
        return list_savepoint_files(self._open_service(name))

    def _delete(self, name: str) -> Structure:
        """Delete the rows of the newest state, and record to which objects they belonged."""
        if name == _QUARANTINE:
            return self._delete_payloads()
        service, register = self._open_service(name), self._app.register
        done = erase_rows(service, self._hasher, self._subjects, partial(self._record, name))
        newest = service.load_timeline().commits[-1].requested
        entry = register.load(name)
        register.save(name, entry.clear(self._subjects, newest, deleted=bool(done.rows)))
        return Structure(name, done.rows, done.instant)

    def _record(self, name: str, lost: Sequence[LostRows]) -> None:
        register = self._app.register
        register.save(name, register.load(name).add_lost(lost))

    def _delete_payloads(self) -> Structure:
        rows = self._open_quarantine().list_rows(QuarantineFilter(table=self._table))
        ids = {str(row["quarantine_id"]) for row in rows if find_in_payload(row["payload"], self._search)}
        self._app.stores.quarantine.remove(ids)
        return Structure(_QUARANTINE, len(ids))

    def _open_quarantine(self) -> QuarantineReader:
        settings = self._app.settings
        options = build_storage_options(settings.lake, settings.lake_storage)
        return QuarantineReader(quarantine_path(settings.lake), options)

    def _clean(self, done: Structure, before: Scan) -> Structure:
        """Remove the older files of the file groups with a subject, or with a log file that may have one."""
        service = self._open_service(done.name)
        is_merged = service.load_meta_client().getTableType().name() == "MERGE_ON_READ"
        compacted = compact(service).instants if is_merged and before.found else ()
        # The delete itself may have written log files.
        later = self._scan(done.name)
        cleaned = clean_file_groups(service, before.file_ids | later.file_ids)
        is_indexed = bool(set(list_metadata_partitions(service)) - _FILES_ONLY)
        is_rebuilt = is_indexed and bool(before.found or done.rows_deleted or cleaned.files)
        if is_rebuilt:
            rebuild_metadata(service)
        return replace(
            done,
            compacted_at=compacted,
            cleaned_at=cleaned.instant,
            files_removed=cleaned.files,
            metadata_rebuilt=is_rebuilt,
        )

    def _clean_views(self, names: Iterable[str]) -> None:
        """Remove what Iceberg views have of the subjects: manifests contain the bounds of columns."""
        views = IcebergViews(self._app.settings, self._now, only=names)
        for name in views.tables:
            try:
                views.update(name, at_once=True)
            except HeadwaterError as error:
                # The next update creates the view, once it is possible.
                log.warning("Iceberg view removed: it cannot be updated", table=name, error=error.message)
                views.remove(name)

    def _list_objects(self) -> tuple[str, ...]:
        lost = self._app.register.load(self._table).lost
        return tuple(sorted({one.uri for one in lost if one.subject in self._subjects and one.uri}))

    def _build_report(
        self, started: datetime, structures: Sequence[Structure], objects: tuple[str, ...]
    ) -> ErasureReport:
        return ErasureReport(
            table=self._table,
            columns=self._hasher.columns,
            subjects=tuple(sorted(self._subjects)),
            started_at=started.isoformat(),
            finished_at=self._now().isoformat(),
            structures=tuple(structures),
            objects=objects,
            not_covered=self._list_not_covered(),
        )

    def _list_not_covered(self) -> dict[str, str]:
        settings, columns = self._app.settings, ", ".join(self._hasher.columns)
        found = dict(NOT_COVERED)
        for name in self._derived:
            if not self._has_columns(name):
                found[f"derived table {name}"] = f"it has no column {columns}"
        if settings.tables[self._table].changes:
            found["tombstones"] = "deletes that the table remembers, with their record keys"
        search = settings.search
        if search is not None and search.table in (self._table, *self._derived):
            store = (
                "versions of the index that are not live, and what the vector store keeps of deleted points"
            )
            found["index"] = store
            if search.table not in self._list_covered():
                found["chunks"] = f"the indexed table {search.table} has no column {columns}"
        if settings.tables[self._table].cdc != "off":
            found["change log"] = "the delete's own change log has the rows until the next write of its files"
        return found

    def _check_exists(self) -> None:
        if not self._has_columns(self._table):
            raise UsageError(
                f"table {self._table} has no rows yet, or no column {', '.join(self._hasher.columns)}",
                hint="`headwater table NAME describe` shows its columns",
            )


def _with_scan(done: Structure, scan: Scan, savepoints: Mapping[str, frozenset[str]]) -> Structure:
    return replace(
        done,
        files_scanned=scan.files,
        bytes_scanned=scan.bytes,
        remaining=judge_scan(scan, savepoints),
    )
