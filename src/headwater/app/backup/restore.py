"""`Restore`: writes the tables of a backup into an empty lake."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from headwater.app.backup.copying import Copied, CopyJob, FileCopier
from headwater.app.backup.destination import BackupFolder
from headwater.app.backup.locations import open_location
from headwater.app.backup.manifest import BackupFile, Manifest
from headwater.app.backup.verification import BadFile, build_incomplete_error, compare_backup
from headwater.app.lake_identity import FORMAT_KEY, check_format, list_missing, name_sources
from headwater.app.restore_state import (
    RESTORE_FILE,
    RestoreState,
    open_lake,
    parse_restore_state,
)
from headwater.app.services.writer_lease import hold_for_command
from headwater.config.lake_storage import LakeStorageConfig
from headwater.config.settings import Settings
from headwater.errors import LakeError, UsageError
from headwater.lake.damage import build_corruption_error, check_files
from headwater.lake.layout import TableAddress, writers_path
from headwater.lake.options import TABLE_PROPERTIES_FILE
from headwater.lake.storage_options import build_storage_options
from headwater.observability.clock import SystemClock, WallClock
from headwater.observability.crash_points import crash_point

log = structlog.stdlib.get_logger(__name__)

_LEASES = writers_path("").lstrip("/")
_REPORT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A restored or verified backup. `missing` are configured tables that it lacks."""

    source: str
    lake: str
    manifest: Manifest
    missing: tuple[str, ...]
    files: int
    bytes: int
    seconds: float


class Restore:
    """One restore into the lake of `settings`. Starts no Spark."""

    def __init__(self, settings: Settings, folder: BackupFolder, threads: int, clock: WallClock) -> None:
        self._settings = settings
        self._folder = folder
        self._clock = clock
        self.lake = open_lake(settings)
        self._copier = FileCopier(folder.store, self.lake, threads)
        self._reported = time.monotonic()

    def verify(self) -> tuple[Manifest, list[BackupFile]]:
        """Check that the backup is complete and fits the configuration; write nothing.

        Raises `UsageError` for no backup, a newer format or another source, `LakeError` for missing or
        truncated files.
        """
        manifest = self._folder.find_manifest()
        if manifest is None:
            raise UsageError(
                f"there is no complete backup in {self._folder.url}",
                hint="`headwater backup` writes one; if it was interrupted, repeat it",
            )
        check_format(manifest.lake, {FORMAT_KEY: str(manifest.lake_format)})
        self._check_source(manifest)
        files = [file for table in manifest.tables for file in self._folder.read_list(table.listed_in)]
        sizes = {file.path: file.size for file in self._folder.store.list_files()}
        if bad := compare_backup(files, sizes):
            raise build_incomplete_error(self._folder.url, bad)
        return manifest, files

    def _check_source(self, manifest: Manifest) -> None:
        configured = name_sources(self._settings)
        for known in list_missing(manifest.source, configured):
            provider, _, location = known.partition(":")
            hint = "configure the source of the backup"
            movable = [one for one in self._settings.sources if one.type == provider]
            if any("moved_from" in type(one).model_fields for one in movable):
                hint += (
                    f"; if its objects are now at another location, add `moved_from: {location}` to source"
                )
            raise UsageError(
                f"the backup {self._folder.url} is of a lake that was filled from {known}; the configured "
                f"source is {', '.join(configured.splitlines())}",
                hint=hint,
            )

    def check_empty(self) -> None:
        """Raise `UsageError` unless the lake is empty, or holds an interrupted restore of this backup."""
        others = [file.path for file in self.lake.list_files() if not file.path.startswith(f"{_LEASES}/")]
        if not others:
            return
        if RESTORE_FILE in others:
            with suppress(ValueError, KeyError, TypeError):
                state = parse_restore_state(self.lake.read(RESTORE_FILE))
                if state.finished_at is None and state.source == self._folder.url:
                    return
        raise UsageError(
            f"the lake {self._settings.lake} is not empty: {len(others):,} files, such as {min(others)}",
            hint="set `lake` to an empty location (`--set lake=LOCATION` for a trial), or move these files "
            "away first",
        )

    def write(self, manifest: Manifest, files: Sequence[BackupFile]) -> None:
        """Write all tables; call it in a lease of the lake. Can be repeated after an interruption.

        Raises `LakeError` for a file that differs from its checksum, or a location that cannot be used.
        """
        state = RestoreState(self._folder.url, self._clock.now())
        self.lake.write(RESTORE_FILE, state.to_bytes())
        # A table exists once it has its properties: until all files are there, readers find none.
        properties = [file for file in files if file.path.endswith(TABLE_PROPERTIES_FILE)]
        others = [file for file in files if not file.path.endswith(TABLE_PROPERTIES_FILE)]
        for part in (others, properties):
            self._copy(part, len(files))
        self._check_tables(manifest)
        self.lake.write(RESTORE_FILE, replace(state, finished_at=self._clock.now()).to_bytes())

    def build_report(self, manifest: Manifest, seconds: float) -> RestoreReport:
        """Build the report of a complete restore, or of a verified backup."""
        restored = {table.name for table in manifest.tables}
        return RestoreReport(
            source=self._folder.url,
            lake=self._settings.lake,
            manifest=manifest,
            missing=tuple(name for name in self._settings.tables if name not in restored),
            files=manifest.files,
            bytes=manifest.bytes,
            seconds=seconds,
        )

    def _copy(self, files: Sequence[BackupFile], total: int) -> None:
        wanted = {file.stored: file for file in files}
        jobs = [CopyJob(file.stored, file.path, file.size) for file in files]
        done = 0
        for batch in self._copier.copy(jobs):
            for file, copied in ((wanted[one.job.source], one) for one in batch):
                _check_copied(self._folder.url, file, copied)
            done += len(batch)
            crash_point("mid_restore")
            if time.monotonic() - self._reported >= _REPORT_SECONDS:
                self._reported = time.monotonic()
                log.info("restoring", files=done, of=total)

    def _check_tables(self, manifest: Manifest) -> None:
        """Compare the restored files with the tables' commits, as `headwater table NAME check` does."""
        options = build_storage_options(self._settings.lake, self._settings.lake_storage)
        root = self._settings.lake.rstrip("/")
        for table in manifest.tables:
            address = TableAddress(table.name, f"{root}/{table.path}", options)
            found = check_files(address)
            if found.damaged:
                raise build_corruption_error(address, found.damaged)
            log.info("table restored", table=table.name, instant=table.instant, files=table.files)


def _check_copied(where: str, file: BackupFile, copied: Copied) -> None:
    if copied.is_absent or copied.size != file.size:
        raise build_incomplete_error(where, [BadFile(file, None if copied.is_absent else copied.size)])
    if copied.checksum != file.checksum:
        raise LakeError(
            f"the backup {where} is corrupt: {file.stored} has the checksum {copied.checksum} instead of "
            f"{file.checksum}",
            hint="recover that file there from an older version of the object, and repeat the restore; or "
            "restore another backup",
        )


def restore_lake(
    settings: Settings, source: str, store: LakeStorageConfig, threads: int, *, dry_run: bool = False
) -> RestoreReport:
    """Verify the backup at `source`, and write it into the empty lake unless `dry_run`.

    Raises `UsageError`, `LakeError`, and `TableBusyError` while another process uses the lake.
    """
    started = time.monotonic()
    folder = BackupFolder(open_location(source, store), attempt="")
    restore = Restore(settings, folder, threads, SystemClock())
    manifest, files = restore.verify()
    if not dry_run:
        restore.check_empty()
        with hold_for_command(settings, "restore"):
            restore.write(manifest, files)
    return restore.build_report(manifest, time.monotonic() - started)


def iter_next_steps(settings: Settings, manifest: Manifest) -> Iterator[str]:
    """Yield what to do after a restore, one sentence each. Pure."""
    since = f"{manifest.created_at:%Y-%m-%d %H:%M:%S}Z"
    yield (
        f"objects that changed after {since} are found by listing the bucket: headwater reconcile, then "
        "headwater run"
    )
    actions = {one.clean_source for one in settings.sources} & {"move", "delete"}
    if actions:
        yield (
            f"objects that `clean_source: {' or '.join(sorted(actions))}` removed after {since} count as "
            "removed by their owner, and mirrors retract their rows. `headwater run` refuses the lake until "
            "`headwater reconcile` has finished; inspect it first: headwater reconcile --dry-run"
        )
    if settings.search is not None:
        yield "the search index is not part of a backup: headwater index build"
    if settings.catalogs:
        yield "catalogs still name the previous location: headwater table NAME sync"
