"""`headwater verify`: compares each table with the bucket, and repairs the differences."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from headwater.app.application import App, read_clock
from headwater.app.lineage.following import Following, open_commits, read_following
from headwater.app.listing import list_in_parallel
from headwater.app.notebook_table import format_table
from headwater.app.objects.deep_verification import DeepVerification
from headwater.app.objects.redrive import Redrive
from headwater.app.objects.streams import build_uri_prefix, open_streams
from headwater.app.scope import build_scope, list_buckets, locate
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.control_events import REPAIR_EVENT, build_control_event, with_content
from headwater.config.source import SourceConfig
from headwater.errors import TableNotFoundError, TableUnsupportedError
from headwater.ingest.planning.plan import Scope
from headwater.ingest.planning.verification import (
    REPAIRABLE_KINDS,
    DeepCounts,
    Finding,
    TableVerification,
    verify_objects,
)
from headwater.ingest.writing.stored_contents import OutsideRows, count_outside
from headwater.lake.damage import CorruptFile, check_files
from headwater.lake.layout import find_address, table_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options
from headwater.lake.table import Table
from headwater.sources.lister import UnusablePath
from headwater.sources.local.lister import LocalLister, format_name
from headwater.sources.registry import build_source
from headwater.sources.source import Source

_MAX_PROBLEMS = 100


@dataclass(slots=True)
class TableReport:
    """One table: its totals, its folders if requested, and the first problems found.

    `damaged` are its corrupt files, `outside` its rows of objects of another source.
    """

    counts: TableVerification = field(default_factory=TableVerification)
    watermark: datetime | None = None
    folders: dict[str, TableVerification] = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)
    deep: DeepCounts | None = None
    damaged: tuple[CorruptFile, ...] = ()
    outside: OutsideRows = field(default_factory=OutsideRows)

    @property
    def is_complete(self) -> bool:
        """True if the table equals the bucket, except for pending events, and its log files are intact.

        Rows of a missing base file count as missing until they are restored.
        """
        is_intact = all(corrupt_file.kind != "log" for corrupt_file in self.damaged)
        return self.counts.is_complete and is_intact and not self.outside.rows

    def _repr_html_(self) -> str:
        rows = [(found.kind, found.key, found.detail) for found in self.problems]
        return _format_counts({"": self}) + (
            format_table(("problem", "object", "detail"), rows) if rows else ""
        )


@dataclass(slots=True)
class VerifyReport:
    """Every object changed up to `watermark` is in the tables, or in quarantine with its reason.

    `derived` tables hold transformed rows of another table, and are compared with no object.
    """

    started_at: datetime
    tables: dict[str, TableReport]
    watermark: datetime
    repaired: int = 0
    derived: dict[str, Following] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """True if every table equals the bucket, except for pending events."""
        return all(report.is_complete for report in self.tables.values())

    def _repr_html_(self) -> str:
        return _format_counts(self.tables)


def _format_counts(tables: Mapping[str, TableReport]) -> str:
    rows = [
        (name, "yes" if table.is_complete else "no", *table.counts.list_counts().values())
        for name, table in tables.items()
    ]
    names = (name.replace("_", " ") for name in TableVerification().list_counts())
    return format_table(("table", "complete", *names), rows)


class Verify:
    """Compares once. Reads only, unless `repair` is called. Raises `HeadwaterError`.

    `deep` re-reads objects: all for 1, about one in `deep` for more, with a different sample each day.
    """

    def __init__(
        self,
        app: App,
        now: Callable[[], datetime] = read_clock,
        *,
        deep: int = 0,
        open_source: Callable[[SourceConfig], Source] = build_source,
    ) -> None:
        self._app = app
        self._settings = app.settings
        self._open_source = open_source
        self._providers = list_buckets(app.settings)
        self._now = now
        self._deep = deep

    def run(self, only: Sequence[str] = (), folder_depth: int = 0) -> VerifyReport:
        """Verify all tables, or those named; also report on the first `folder_depth` parts of the keys."""
        started_at = self._now()
        names = self._list_objects(only)
        tables = self._verify(names, folder_depth)
        for report in tables.values():
            report.watermark = report.counts.oldest_open or started_at
        watermark = min((r.watermark or started_at for r in tables.values()), default=started_at)
        return VerifyReport(started_at, tables, watermark, derived=self._read_derived(only))

    def repair(self, only: Sequence[str] = ()) -> int:
        """Re-ingest every object that is missing, wrong or extra; return their number.

        Writes; call it inside `hold_for_command`. Raises `HeadwaterError`.
        """
        names = self._list_objects(only)
        redrive = Redrive(self._app, self._now)
        asked = redrive.append(self._iter_repairs(names))
        if names:
            redrive.run_tables(names)
        return asked

    def _list_objects(self, only: Sequence[str]) -> tuple[str, ...]:
        derived = self._settings.derived_tables
        return tuple(name for name in only or self._settings.tables if name not in derived)

    def _read_derived(self, only: Sequence[str]) -> dict[str, Following]:
        lake, options = (
            self._settings.lake,
            build_storage_options(self._settings.lake, self._settings.lake_storage),
        )

        return {
            name: read_following(
                open_commits(lake, table, options), SnapshotReader(table_path(lake, name), options)
            )
            for name, table in self._settings.derived_tables.items()
            if not only or name in only
        }

    def _iter_repairs(self, names: Sequence[str]) -> Iterator[CapturedEvent]:
        asked: set[tuple[str, str]] = set()
        started_at = self._now()
        for _, finding in self._iter_findings(names, {name: DeepCounts() for name in names}):
            if finding.is_repairable and (finding.bucket, finding.key) not in asked:
                asked.add((finding.bucket, finding.key))
                yield self._build_event(finding, started_at)

    def _verify(self, names: Sequence[str], folder_depth: int) -> dict[str, TableReport]:
        reports = {name: self._begin_report(name) for name in names}
        deep = {name: report.deep or DeepCounts() for name, report in reports.items()}
        for name, finding in self._iter_findings(names, deep):
            report = reports[name]
            report.counts.add(finding)
            if folder_depth:
                folder = "/".join(finding.key.split("/")[:-1][:folder_depth])
                report.folders.setdefault(folder, TableVerification()).add(finding)
            if finding.kind in REPAIRABLE_KINDS and len(report.problems) < _MAX_PROBLEMS:
                report.problems.append(finding)
        return reports

    def _begin_report(self, name: str) -> TableReport:
        return TableReport(
            deep=DeepCounts() if self._deep else None,
            damaged=self._find_corrupt_files(name),
            outside=count_outside(
                Table(self._app.spark, table_path(self._settings.lake, name)),
                [build_uri_prefix(location) for location in build_scope(self._settings, name).locations],
            ),
        )

    def _find_corrupt_files(self, name: str) -> tuple[CorruptFile, ...]:
        try:
            return check_files(find_address(self._settings, name)).damaged
        except (TableNotFoundError, TableUnsupportedError):
            return ()

    def _iter_findings(
        self, names: Sequence[str], deep: Mapping[str, DeepCounts]
    ) -> Iterator[tuple[str, Finding]]:
        """Yield the findings of all tables, each with its table; count what is re-read."""
        found = self._compare(names)
        return self._read_again(found, deep) if self._deep else found

    def _compare(self, names: Sequence[str]) -> Iterator[tuple[str, Finding]]:
        for source in self._settings.listed_sources:
            own = [name for name in names if source in self._settings.list_sources_of(name)]
            for name, finding in self._compare_source(source, own) if own else ():
                yield name, replace(finding, bucket=source.known_location)

    def _compare_source(self, source: SourceConfig, names: Sequence[str]) -> Iterator[tuple[str, Finding]]:
        """Yield the findings about the objects of one source, of which all these tables take objects."""
        location = locate(source)
        unusable: list[UnusablePath] = []
        with self._open_source(source).open_lister(lambda: None, unusable.append) as lister:
            present = list_in_parallel(self._app, source, lister).iter_objects(source.prefix)
            streams = [open_streams(self._app, name, location) for name in names]
            for at, finding in verify_objects(present, streams):
                is_hidden = isinstance(lister, LocalLister) and lister.hides(finding.key)
                if not (is_hidden and finding.kind == "extra"):
                    yield names[at], finding
        for name in names:
            scope = build_scope(self._settings, name)
            yield from ((name, finding) for finding in _judge_unusable(unusable, scope, location.bucket))

    def _read_again(
        self, found: Iterable[tuple[str, Finding]], deep: Mapping[str, DeepCounts]
    ) -> Iterator[tuple[str, Finding]]:
        passes = {
            name: DeepVerification(self._app, name, counts, self._now(), self._deep)
            for name, counts in deep.items()
        }
        for name, finding in found:
            yield from ((name, judged) for judged in passes[name].take(finding))
        for name, last in passes.items():
            yield from ((name, judged) for judged in last.finish())

    def _build_event(self, finding: Finding, now: datetime) -> CapturedEvent:
        present = finding.present
        provider = self._providers[finding.bucket]
        event = build_control_event(REPAIR_EVENT, provider, finding.bucket, finding.key, now)
        if present is None:
            return with_content(event, "removed", None)
        etag = finding.entry.etag if finding.entry else present.etag
        return with_content(event, "created", etag, present.size)


def _judge_unusable(unusable: Sequence[UnusablePath], scope: Scope, bucket: str) -> Iterator[Finding]:
    """Judge an unlistable folder, whose contents are unknown, and messages that are not captured yet."""
    for path in unusable:
        if path.reason == "not_captured":
            if scope.includes(bucket, path.key):
                yield Finding("pending", path.key, path.detail)
            continue
        is_folder = path.key.endswith("/") or not path.key
        is_lost = path.reason == "unreadable_folder" or (path.reason == "bad_name" and is_folder)
        if is_lost or (path.reason == "bad_name" and scope.includes(bucket, path.key)):
            yield Finding("quarantined", format_name(path.key), f"{path.reason}: {path.detail}")
