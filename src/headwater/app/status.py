"""The status of the tables, read without a JVM."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime

from headwater.app.catalogs.sync import read_notes
from headwater.app.iceberg.status import IcebergStatus, read_status
from headwater.app.lineage.following import Following, InputLag, open_commits, read_following
from headwater.app.notebook_table import format_table
from headwater.app.scope import build_scope, build_sets, group_by_queue, label_source
from headwater.capture.position import BEGINNING, EventRange, Position, parse_instant
from headwater.capture.quarantine_reader import QuarantineReader
from headwater.capture.reconcile.pass_reader import read_last_pass
from headwater.capture.reconcile.passes import ReconcilePass
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.config.table import TableConfig
from headwater.errors import SourceError
from headwater.ingest.ledger.starts import STARTS_KEY, parse_starts
from headwater.ingest.planning.outcome import CHECKPOINT
from headwater.ingest.planning.plan import Scope
from headwater.ingest.planning.progress import Progress, parse_progress
from headwater.ingest.sets.progress import SETS_KEY, parse_set_progress
from headwater.lake.catalogs.notes import SyncNote
from headwater.lake.layout import (
    events_path,
    ledger_path,
    quarantine_path,
    reconciles_path,
    table_path,
)
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options
from headwater.lake.writers.lease import Lease
from headwater.lake.writers.writer_lease import read_writers
from headwater.observability.part_state import TABLE_PREFIX, Health, PartState, judge_health
from headwater.sources.registry import build_queue

_PENDING_COLUMNS = ("_hoodie_commit_time", "bucket", "key", "event_time", "batch_index")


@dataclass(frozen=True, slots=True)
class TableLag:
    """The lag of a table: its unconsumed events or commits, and the age in seconds of the oldest; 0 without
    any.

    `count` are events of the table's keys, or commits of the table that it follows.
    """

    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SetStatus:
    """The sets of files of a table: the folder of the one in the table, empty before the first, and what each
    newer one lacks, by folder.
    """

    applied: str
    open: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SkippedEvents:
    """Events that a table was configured to skip: committed after `after`, or from the first one, up to
    `until`."""

    after: datetime | None
    until: datetime


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One data table. `commits` are those of the active timeline; `checkpoint` is an offset in the events
    table, None before the first commit.

    `lag_events` are events of the table's keys behind the checkpoint; `lag_seconds` is the age of the oldest
    of them, 0 when there is none. For a derived table, `follows` names its sources, and `checkpoint` is when
    the last consumed commit completed, of the source for which that was the earliest; for Delta and Iceberg,
    it is `VERSION@TABLE`. `lag_commits` counts the later ones of all sources, which `inputs` lists. `failure`
    is the current batch error in an active run. `skipped` are events before the checkpoint; the pipeline from
    which the table was adopted has
    processed those committed up to `adopted_until`. `sets` is None for a table without sets of files,
    `iceberg` for one without an Iceberg view.
    """

    rows: int
    commits: int
    checkpoint: str | None
    last_commit: datetime | None
    lag_events: int
    lag_seconds: float
    follows: str | None = None
    lag_commits: int = 0
    failure: str = ""
    sets: SetStatus | None = None
    skipped: tuple[SkippedEvents, ...] = ()
    adopted_until: datetime | None = None
    inputs: tuple[InputLag, ...] = ()
    iceberg: IcebergStatus | None = None


@dataclass(frozen=True, slots=True)
class EventsStatus:
    """The events table."""

    rows: int
    commits: int
    last_commit: datetime | None


@dataclass(frozen=True, slots=True)
class QuarantineStatus:
    """The contents of quarantine, by level."""

    messages: int
    objects: int
    records: int

    @property
    def total(self) -> int:
        """Return the number of all quarantined items."""
        return self.messages + self.objects + self.records


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """Approximate numbers of messages that wait or are with a consumer; None if the service does not report
    them. `error` when the queue cannot be asked."""

    visible: int | None
    in_flight: int | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One source. `reconcile` is its most recently started pass; `queue` is None for a folder."""

    name: str
    address: str
    queue: QueueStatus | None = None
    reconcile: ReconcilePass | None = None


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """A process that writes the lake: its command, the tables that no other process writes, those that it
    shares, and the states of its parts; a table service publishes none."""

    command: str
    machine: str
    process: int
    since: str
    tables: tuple[str, ...]
    health: Health = "ok"
    parts: Mapping[str, PartState] = field(default_factory=dict)
    shared: tuple[str, ...] = ()

    def iter_failures(self) -> Iterator[tuple[str, str]]:
        """Yield name and error of each table whose batches fail."""
        for name, state in self.parts.items():
            if name.startswith(TABLE_PREFIX) and state.health != "ok":
                yield name.removeprefix(TABLE_PREFIX), state.error


@dataclass(frozen=True, slots=True)
class Status:
    """`headwater status`. `queue` has the messages of all queues, `reconcile` is the most recently started
    pass over any source, `catalogs` the result of each table's last sync to each catalog, `writers` the
    active processes."""

    events: EventsStatus
    tables: dict[str, TableStatus]
    quarantine: QuarantineStatus
    queue: QueueStatus | None
    reconcile: ReconcilePass | None = None
    catalogs: Sequence[SyncNote] = ()
    writers: Sequence[WriterStatus] = ()
    sources: Sequence[SourceStatus] = ()

    def _repr_html_(self) -> str:
        columns = ("table", "rows", "commits", "last commit", "seconds behind")
        rows = [
            (name, t.rows, t.commits, t.last_commit, round(t.lag_seconds, 1))
            for name, t in self.tables.items()
        ]
        note = f"{self.events.rows:,} events; {self.quarantine.total:,} items in quarantine"
        return format_table(columns, rows, note)


class StatusReader:
    """Reads the tables of one configuration. Raises `LakeError`."""

    def __init__(self, settings: Settings, storage_options: Mapping[str, str], now: datetime) -> None:
        self._settings = settings
        self._options = storage_options
        self._now = now

    def read(self, only: Sequence[str] = ()) -> Status:
        """Return the whole status; `only` restricts it to the named tables."""
        lake = self._settings.lake
        events = SnapshotReader(events_path(lake), self._options)
        has_events = events.exists()
        writers = [_to_status(lease) for lease in read_writers(lake, self._options)]
        failures = {table: error for writer in writers for table, error in writer.iter_failures()}
        sources = self._read_sources()
        passes = [source.reconcile for source in sources if source.reconcile is not None]
        return Status(
            events=self._read_events(events) if has_events else EventsStatus(0, 0, None),
            tables={
                name: replace(
                    self._read_table(name, events if has_events else None),
                    failure=failures.get(name, ""),
                    iceberg=self.read_iceberg(name),
                )
                for name in only or self._settings.tables
            },
            quarantine=read_quarantine_status(lake, self._options),
            queue=_join_queues([source.queue for source in sources if source.queue is not None]),
            reconcile=max(passes, key=lambda one: one.started_at, default=None),
            catalogs=[note for note in read_notes(self._settings) if not only or note.table in only],
            writers=writers,
            sources=sources,
        )

    def _read_events(self, events: SnapshotReader) -> EventsStatus:
        names = events.commit_names
        return EventsStatus(
            rows=events.count_rows(),
            commits=len(names),
            last_commit=parse_instant(names[-1].completed) if names else None,
        )

    def read_lag(self, name: str) -> TableLag:
        """Return the lag of one table."""
        config = self._settings.tables.get(name)
        lake = self._settings.lake
        table = SnapshotReader(table_path(lake, name), self._options)
        if config is not None and config.sources:
            return self._measure_following(self._read_following(config, table))
        scope = build_scope(self._settings, name)
        events = SnapshotReader(events_path(lake), self._options)
        found = events if events.exists() else None
        metadata = table.find_metadata(CHECKPOINT) if table.exists() else None
        return self._measure(scope, self._find_progress(name, metadata, found), found)

    def _read_table(self, name: str, events: SnapshotReader | None) -> TableStatus:
        config = self._settings.tables.get(name)
        if config is not None and config.sources:
            return self._read_derived(name, config)
        scope = build_scope(self._settings, name)
        reader = SnapshotReader(table_path(self._settings.lake, name), self._options)
        exists = reader.exists()
        metadata = reader.find_metadata(CHECKPOINT) if exists else None
        progress = self._find_progress(name, metadata, events)
        lag = self._measure(scope, progress, events)
        names = reader.commit_names if exists else []
        return TableStatus(
            rows=reader.count_rows() if exists else 0,
            commits=len(names),
            checkpoint=(metadata or {}).get(CHECKPOINT),
            last_commit=parse_instant(names[-1].completed) if names else None,
            lag_events=lag.count,
            lag_seconds=lag.seconds,
            skipped=tuple(map(_to_skipped, progress.skipped_by_choice)),
            adopted_until=parse_instant(progress.adopted.completed) if progress.adopted > BEGINNING else None,
            sets=self.read_sets(name),
        )

    def read_sets(self, name: str) -> SetStatus | None:
        """Return the sets of files of one table; None for a table without them."""
        names = build_sets(self._settings, name) if name in self._settings.object_tables else None
        if names is None:
            return None
        reader = SnapshotReader(table_path(self._settings.lake, name), self._options)
        metadata = (reader.find_metadata(CHECKPOINT) if reader.exists() else None) or {}
        progress = parse_set_progress(metadata.get(SETS_KEY, ""))
        return SetStatus(
            names.show(progress.applied) if progress.applied else "",
            {names.show(name): why for name, why in progress.open.items()},
        )

    def read_iceberg(self, name: str) -> IcebergStatus | None:
        """Return the state of a table's Iceberg view; None for a table without one."""
        if name not in self._settings.tables or not self._settings.tables[name].iceberg:
            return None
        reader = SnapshotReader(table_path(self._settings.lake, name), self._options)
        commits = reader.commit_names if reader.exists() else []
        return read_status(self._settings, name, commits, self._now)

    def _measure(self, scope: Scope, progress: Progress, events: SnapshotReader | None) -> TableLag:
        if events is None:
            return TableLag(0, 0.0)
        pending = _read_pending(scope, events, progress.checkpoint)
        return TableLag(len(pending), self._measure_age(min(pending, default=None)))

    def _find_progress(
        self, name: str, metadata: Mapping[str, str] | None, events: SnapshotReader | None
    ) -> Progress:
        """Return how far a table has read the events; before its first run, `latest` is after all of them."""

        def find_latest() -> Position:
            ledger = SnapshotReader(ledger_path(self._settings.lake), self._options)
            found = ledger.find_metadata(STARTS_KEY) if ledger.exists() else None
            start = parse_starts((found or {}).get(STARTS_KEY, "{}")).get(name)
            names = events.commit_names if events else []
            return start or (Position(names[-1].completed) if names else BEGINNING)

        return parse_progress(metadata, self._settings.tables[name].start_from, find_latest)

    def _measure_following(self, found: Following) -> TableLag:
        return TableLag(found.behind, self._measure_age(found.oldest))

    def _measure_age(self, oldest: datetime | None) -> float:
        return max(0.0, (self._now - oldest).total_seconds()) if oldest else 0.0

    def _read_following(self, config: TableConfig, reader: SnapshotReader) -> Following:
        return read_following(open_commits(self._settings.lake, config, self._options), reader)

    def _read_derived(self, name: str, config: TableConfig) -> TableStatus:
        reader = SnapshotReader(table_path(self._settings.lake, name), self._options)
        exists = reader.exists()
        names = reader.commit_names if exists else []
        found = self._read_following(config, reader)
        return TableStatus(
            rows=reader.count_rows() if exists else 0,
            commits=len(names),
            checkpoint=found.as_of,
            last_commit=parse_instant(names[-1].completed) if names else None,
            lag_events=0,
            lag_seconds=self._measure_following(found).seconds,
            follows=found.source,
            lag_commits=found.behind,
            inputs=found.inputs,
        )

    def _read_sources(self) -> list[SourceStatus]:
        path, found = reconciles_path(self._settings.lake), []
        for group in group_by_queue(self._settings.sources):
            # Sources that share a queue share its messages, which are counted once.
            queue = _read_queue(group[0])
            for source in group:
                name = label_source(self._settings, source)
                done = read_last_pass(path, source.known_location, source.prefix, self._options)
                found.append(SourceStatus(name, source.address, queue if source is group[0] else None, done))
        return found


def _read_queue(source: SourceConfig) -> QueueStatus | None:
    if source.is_watched:
        return None
    try:
        with closing(build_queue(source)) as queue:
            depth = queue.depth()
    except SourceError as error:
        return QueueStatus(None, None, error.message)
    return QueueStatus(None, None) if depth is None else QueueStatus(depth.visible, depth.in_flight)


def _join_queues(queues: Sequence[QueueStatus]) -> QueueStatus | None:
    """Return the messages of all queues; the first error if one cannot be asked."""
    if not queues:
        return None
    error = next((queue.error for queue in queues if queue.error), None)
    if error is not None or any(queue.visible is None for queue in queues):
        return QueueStatus(None, None, error)
    return QueueStatus(
        sum(queue.visible or 0 for queue in queues), sum(queue.in_flight or 0 for queue in queues)
    )


def _to_skipped(events: EventRange) -> SkippedEvents:
    after = None if events.after == BEGINNING else parse_instant(events.after.completed)
    return SkippedEvents(after, parse_instant(events.until.completed))


def _read_pending(scope: Scope, events: SnapshotReader, position: Position) -> list[datetime]:
    """Return the times of the table's events behind the offset."""
    completed = {commit.requested: commit.completed for commit in events.commit_names}
    # Subtract one millisecond: the commit in which a batch ended is read again.
    after = str(int(position.completed) - 1).zfill(17) if int(position.completed) else position.completed
    rows = events.read_since(after, _PENDING_COLUMNS).to_pylist()
    pending = []
    for row in rows:
        commit = completed.get(row["_hoodie_commit_time"], row["_hoodie_commit_time"])
        if Position(commit, row["batch_index"]) > position and scope.includes(row["bucket"], row["key"]):
            pending.append(row["event_time"])
    return pending


def _to_status(lease: Lease) -> WriterStatus:
    return WriterStatus(
        lease.command,
        lease.machine,
        lease.processes[0].number,
        lease.since,
        tuple(sorted(lease.tables)),
        judge_health(lease.parts.values()),
        lease.parts,
        tuple(sorted(lease.shared)),
    )


def read_quarantine_status(lake: str, storage_options: Mapping[str, str]) -> QuarantineStatus:
    """Count quarantined items. Raises `LakeError`."""
    levels = Counter(
        row["level"] for row in QuarantineReader(quarantine_path(lake), storage_options).list_rows()
    )
    return QuarantineStatus(levels["message"], levels["object"], levels["record"])


def has_commits(settings: Settings, name: str) -> bool:
    """True if a data table exists. Raises `LakeError`."""
    options = build_storage_options(settings.lake, settings.lake_storage)
    return SnapshotReader(table_path(settings.lake, name), options).exists()
