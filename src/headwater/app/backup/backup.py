"""`Backup`: copies all tables of a lake, each at one completed commit, while runs may write them."""

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from headwater.app.backup.copying import CopyJob, FileCopier
from headwater.app.backup.destination import BackupFolder
from headwater.app.backup.locations import check_destination, find_unconfigured, open_location
from headwater.app.backup.manifest import BackupFile, Manifest, TableBackup
from headwater.app.backup.order import order_for_copy
from headwater.app.lake_identity import FORMAT_KEY, ensure_usable_lake, name_sources
from headwater.app.restore_state import open_lake
from headwater.config.lake_storage import LakeStorageConfig
from headwater.config.settings import Settings
from headwater.errors import LakeError, TableNotFoundError, UsageError
from headwater.lake.damage import CorruptFile, build_corruption_error
from headwater.lake.file_store import FileStore
from headwater.lake.layout import erasure_path, events_path, find_address
from headwater.lake.snapshot_reader import SnapshotReader, to_uri
from headwater.lake.storage_options import build_storage_options
from headwater.lake.table_copy.cleans import Verdict, judge_copy
from headwater.lake.table_copy.parts import list_timeline_files
from headwater.lake.table_copy.survey import (
    TableSurvey,
    find_corruption,
    read_new_cleans,
    survey_table,
)
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease
from headwater.observability.clock import SystemClock, WallClock
from headwater.observability.crash_points import crash_point
from headwater.version import __version__

log = structlog.stdlib.get_logger(__name__)

_PASSES = 20
# The last table to be copied: its list of files also has the register of forgotten subjects.
_CARRIER = "events"
_PAUSE_SECONDS = 1.0
_REPORT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A complete backup of `files` with `bytes` in total.

    `copied_files` and `copied_bytes` are those that were not there before.
    """

    destination: str
    manifest: Manifest
    files: int
    bytes: int
    copied_files: int
    copied_bytes: int
    seconds: float


@dataclass(slots=True)
class _TablePass:
    """What one pass over a table has: its state, the files copied, and names of those deleted before that."""

    survey: TableSurvey
    files: dict[str, BackupFile] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)


class Backup:
    """One backup of one lake. Reads the lake only, and starts no Spark."""

    def __init__(self, settings: Settings, folder: BackupFolder, threads: int, clock: WallClock) -> None:
        self._settings = settings
        self._folder = folder
        self._threads = threads
        self._clock = clock
        self._lake: FileStore = open_lake(settings)
        self._copier = FileCopier(self._lake, folder.store, threads)
        self._known: dict[str, BackupFile] = {}
        self._copied_files = 0
        self._copied_bytes = 0
        self._reported = 0.0

    def run(self, check: Callable[[], None] = lambda: None) -> BackupReport:
        """Copy everything, and write the manifest last, if `check` raises no error before that.

        Raises `UsageError` for a lake without tables, `TableDamagedError` for a table that lacks files,
        `LakeError` if a table changes faster than it can be copied, or a location cannot be used.
        """
        started = time.monotonic()
        self._known = self._folder.load_known()
        names = order_for_copy(self._settings)
        # Most files do not change any more. Copying them first makes the second pass over all tables short,
        # so that the copies of all tables are of nearly the same time.
        there = [name for name in names if self._copy_once(name)]
        if not there:
            raise UsageError(
                f"the lake {self._settings.lake} has no tables yet",
                hint="nothing to back up; `headwater run --once` creates the tables",
            )
        tables: list[TableBackup] = []
        stored: set[str] = set()
        for name in names:
            done = self._copy_consistently(name)
            if done is not None:
                tables.append(self._write_table(name, done))
                stored |= {file.stored for file in done.files.values()}
        manifest = self._build_manifest(tables)
        check()
        crash_point("before_backup_manifest")
        self._folder.complete(manifest, stored, self._threads)
        return BackupReport(
            destination=self._folder.url,
            manifest=manifest,
            files=manifest.files,
            bytes=manifest.bytes,
            copied_files=self._copied_files,
            copied_bytes=self._copied_bytes,
            seconds=time.monotonic() - started,
        )

    def _copy_once(self, name: str) -> bool:
        """Copy what is there now, without regard to consistency; False if there is no table."""
        survey = self._survey(name)
        if survey is None:
            return False
        self._copy_files(survey)
        return True

    def _copy_consistently(self, name: str) -> _TablePass | None:
        verdict = Verdict()
        damaged: tuple[CorruptFile, ...] = ()
        for attempt in range(_PASSES):
            if attempt:
                time.sleep(_PAUSE_SECONDS)
            survey = self._survey(name)
            if survey is None:
                return None
            done, seen = self._copy_files(survey), damaged
            verdict, damaged = self._judge(done)
            if not verdict.problem and not damaged:
                self._add_cleans(done, verdict)
                return done
            # Once may be a clean that was archived at once; nothing repairs the second time.
            if not verdict.problem and damaged == seen:
                raise build_corruption_error(survey.address, damaged)
            log.info("table changed while it was copied; repeating", table=name, reason=verdict.problem)
        raise LakeError(
            f"table {name} cannot be copied consistently: {verdict.problem}",
            hint="repeat the command: it copies only new files. If it fails again, keep older files "
            f"longer (`tables.{name}.keep_commits`), stop the run, or complete an interrupted clean: "
            f"headwater table {name} clean",
        )

    def _survey(self, name: str) -> TableSurvey | None:
        """Return the state of a table; None for one that does not exist, or has no commit yet."""
        try:
            survey = survey_table(find_address(self._settings, name))
        except TableNotFoundError:
            return None
        return survey if survey.newest else None

    def _copy_files(self, survey: TableSurvey) -> _TablePass:
        done, name = _TablePass(survey), survey.address.name
        start = self._locate(survey)
        sizes = {f"{start}{file.path}": file.size for file in survey.files}
        jobs = []
        for path, size in sizes.items():
            known = self._known.get(path)
            if known is not None and known.size == size:
                done.files[path] = known
            else:
                jobs.append(CopyJob(path, self._folder.locate(path), size))
        for batch in self._copier.copy(jobs):
            copied = [
                BackupFile(one.job.source, one.job.target, one.size, one.checksum)
                for one in batch
                if not one.is_absent and one.size == one.job.size
            ]
            self._folder.note_copied(copied)
            crash_point("mid_backup")
            found = {file.path: file for file in copied}
            self._known |= found
            done.files |= found
            done.absent += [_name(one.job.source) for one in batch if one.job.source not in found]
            self._copied_files += len(copied)
            self._copied_bytes += sum(file.size for file in copied)
            self._report(name, len(done.files), len(sizes))
        return done

    def _judge(self, done: _TablePass) -> tuple[Verdict, tuple[CorruptFile, ...]]:
        """Judge a pass; also return files that the state lacks."""
        survey = done.survey
        try:
            damaged = find_corruption(survey)
            cleans = {clean.instant: clean for clean in (*survey.cleans, *read_new_cleans(survey))}
        except LakeError as error:
            return Verdict(error.message), ()
        copied = {_name(path) for path in done.files}
        return judge_copy(survey.newest_requested, copied, done.absent, cleans.values()), damaged

    def _add_cleans(self, done: _TablePass, verdict: Verdict) -> None:
        """Add the actions that explain why older states lack files."""
        start = self._locate(done.survey)
        for file in list_timeline_files([clean.instant for clean in verdict.cleans]):
            path = f"{start}{file.path}"
            size, checksum = self._folder.store.copy(self._folder.locate(path), self._lake, path)
            done.files[path] = BackupFile(path, self._folder.locate(path), size, checksum)

    def _write_table(self, name: str, done: _TablePass) -> TableBackup:
        survey, newest = done.survey, done.survey.newest
        assert newest is not None  # noqa: S101 - `_survey` returns no other
        start = self._locate(survey)
        for path, content in survey.contents.items():
            file = self._folder.write_changing(f"{start}{path}", content)
            done.files[file.path] = file
        if name == _CARRIER:
            self._add_register(done)
        files = sorted(done.files.values(), key=lambda file: file.path)
        log.info("table copied", table=name, instant=newest.requested, files=len(files))
        return TableBackup(
            name=name,
            path=start.rstrip("/"),
            table_type=survey.properties.read("table_type").lower(),
            instant=newest.requested,
            completed=newest.completed,
            files=len(files),
            bytes=sum(file.size for file in files),
            listed_in=self._folder.write_list(name, files),
        )

    def _add_register(self, done: _TablePass) -> None:
        """Add the suppressed subjects: a restored lake must not ingest their rows again."""
        folder = erasure_path("").strip("/")
        for file in self._lake.list_files(folder):
            copied = self._folder.write_changing(file.path, self._lake.read(file.path))
            done.files[copied.path] = copied

    def _build_manifest(self, tables: Sequence[TableBackup]) -> Manifest:
        settings = self._settings
        return Manifest(
            created_at=self._clock.now(),
            headwater=__version__,
            lake=self._lake.url,
            lake_format=read_format(settings),
            source=name_sources(settings),
            tables=tuple(tables),
            configuration={
                "tables": list(settings.tables),
                "search": settings.search.table if settings.search else None,
            },
            skipped=tuple(find_unconfigured(self._lake, settings)),
        )

    def _locate(self, survey: TableSurvey) -> str:
        """Return the path of a table relative to the lake, with a slash."""
        return f"{survey.address.path[len(self._settings.lake.rstrip('/')) + 1 :]}/"

    def _report(self, table: str, files: int, total: int) -> None:
        now = time.monotonic()
        if now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            log.info("copying", table=table, files=files, of=total, copied_bytes=self._copied_bytes)


def back_up_lake(
    settings: Settings, destination: str, store: LakeStorageConfig, threads: int
) -> BackupReport:
    """Copy the lake to `destination`, or bring the backup there up to date.

    Raises `UsageError` for a destination that cannot be used, `TableBusyError` while another backup writes
    it, and the errors of `Backup.run`.
    """
    check_destination(destination, settings)
    ensure_usable_lake(settings)
    files, clock = open_location(destination, store), SystemClock()
    folder = BackupFolder(files, attempt=f"{clock.now():%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}")
    folder.claim(to_uri(settings.lake).rstrip("/"))
    intent = Intent("service", "backup", ("backup",), alone=True)
    with WriterLease(files.url, files.build_options(), intent).entered(Patience()) as lease:
        return Backup(settings, folder, threads, clock).run(lease.check)


def read_format(settings: Settings) -> int:
    """Return the format that the lake records, 1 for none. Raises `LakeError`."""
    options = build_storage_options(settings.lake, settings.lake_storage)
    found = SnapshotReader(events_path(settings.lake), options)
    metadata = found.find_metadata(FORMAT_KEY) if found.exists() else None
    return int((metadata or {}).get(FORMAT_KEY, "1"))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
