"""`headwater explain URI`: everything known about one object, in chronological order."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater.app.application import App
from headwater.app.notebook_table import format_table
from headwater.app.scope import build_scope, build_sets
from headwater.capture.position import Position, parse_instant
from headwater.capture.quarantine_reader import QuarantineReader
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.errors import UsageError
from headwater.ingest.committed_state import load_set_progress
from headwater.ingest.ledger.outcome_log import decode_outcomes
from headwater.ingest.ledger.reading import LedgerReader
from headwater.ingest.lineage import build_uri
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.verification import ADOPTED, SKIPPED
from headwater.ingest.writing.stored_contents import find_row_counts
from headwater.lake.layout import quarantine_path, table_path
from headwater.lake.storage_options import build_storage_options
from headwater.lake.table import Table
from headwater.sources.kafka.ranges import parse_offset
from headwater.sources.local.lister import format_name, is_utf8
from headwater.sources.registry import build_source

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TableDecision:
    """How one table handled one event. `commit` is the table's commit that contains it. `outcome` is one of
    ingested, skipped, superseded, removed, quarantined, missing or unavailable."""

    table: str
    event_id: str
    commit: str
    decided_at: datetime
    outcome: str
    reason: str
    detail: str
    version: str
    rows: int
    bad_rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TableView:
    """How one table sees the object. `filtered_by` names the rule that excludes it; then all else is empty.
    `rows` are those in the table now, by version. Of its events, `pending` are not processed yet, and
    `skipped` never will be, for `skip_reason`. `place` says whether the object waits for its set of
    files, or is not needed, and why."""

    filtered_by: str | None
    state: LedgerEntry | None = None
    rows: Mapping[str, int] | None = None
    pending: int = 0
    skipped: int = 0
    skip_reason: str = SKIPPED
    place: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """`status` is unknown, filtered, pending, ingested, skipped, quarantined or removed; where tables differ,
    the one that needs attention comes first."""

    uri: str
    status: str
    reason: str
    events: Sequence[Row]
    decisions: list[TableDecision]
    quarantine: Sequence[Row]
    tables: dict[str, TableView]

    def _repr_html_(self) -> str:
        columns = ("time", "table", "outcome", "reason", "rows", "bad rows", "version", "commit")
        rows = [
            (d.decided_at, d.table, d.outcome, d.detail or d.reason, d.rows, d.bad_rows, d.version, d.commit)
            for d in self.decisions
        ]
        reason = f" ({self.reason})" if self.reason else ""
        bad = "".join(f"; {row['table']}: {row['reason']}: {row['detail']}" for row in self.quarantine)
        note = f"{self.uri} is {self.status}{reason}; {len(self.events):,} events{bad}"
        return format_table(columns, rows, note)


# The first of these that any table reports is the status of the object.
_STATUS_ORDER = ("quarantined", "pending", "ingested", "removed", "superseded", "skipped")


class Explain:
    """Reads the tables of one `App`. Raises `LakeError`, and `UsageError` for an address outside the
    source."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._settings = app.settings
        self._options = build_storage_options(app.settings.lake, app.settings.lake_storage)

    def explain(self, uri: str, table: str = "") -> Explanation:
        """Explain the object at `uri`, which may also be a key of the source, or an offset of a topic.

        Default: for all tables. Raises `UsageError` for a table without objects.
        """
        known = self._settings.object_tables
        if table and table not in known:
            raise UsageError(
                f"{table} is not built from objects",
                hint=f"explain the object for one of: {', '.join(known)}",
            )
        chosen = [table] if table else list(known)
        source, key = parse_uri(uri, self._settings)
        bucket = source.known_location
        if source.type == "kafka" and (offset := parse_offset(key)) is not None:
            key = self._app.events.find_last_key(bucket, *offset) or key
        events = self._app.events.read_history(bucket, key)
        decisions: list[TableDecision] = []
        tables: dict[str, TableView] = {}
        for name in chosen:
            scope = build_scope(self._settings, name)
            relative = scope.relative_key(bucket, key)
            outside = "source.prefix" if bucket in scope.buckets else "source"
            rule = outside if relative is None else scope.selector(relative)
            if rule is not None:
                tables[name] = TableView(filtered_by=rule)
                continue
            made = self._read_decisions(name, {row["event_id"] for row in events})
            decisions += made
            tables[name] = self._view(name, events, made)
        decisions.sort(key=lambda decision: (decision.decided_at, decision.event_id))
        status, reason = _choose_status(events, tables)
        address = build_uri(source.type, bucket, key)
        quarantine = [row for row in self._read_quarantine(bucket, key) if row["table"] == table or not table]
        return Explanation(address, status, reason, events, decisions, quarantine, tables)

    def _read_decisions(self, name: str, event_ids: set[str]) -> list[TableDecision]:
        timeline = self._open(name).load_timeline()
        if not event_ids or not timeline.has_commits():
            return []
        return [
            TableDecision(
                table=name,
                event_id=found.event_id,
                commit=commit.requested,
                decided_at=parse_instant(commit.completed),
                outcome=found.status,
                reason=found.reason,
                detail=found.detail,
                version=found.version,
                rows=found.rows,
                bad_rows=found.bad_rows,
                bytes=found.bytes,
            )
            for commit, metadata in timeline.iter_metadata("")
            for found in decode_outcomes(metadata)
            if found.event_id in event_ids
        ]

    def _view(self, name: str, events: Sequence[Row], decisions: list[TableDecision]) -> TableView:
        table = self._open(name)
        progress = self._app.load_progress(name)
        decided = {decision.event_id for decision in decisions}
        undecided = [_position_of(row) for row in events if row["event_id"] not in decided]
        passed = [at for at in undecided if any(one.has(at) for one in progress.skipped)]
        skipped, why = len(passed), ADOPTED if passed and max(passed) <= progress.adopted else SKIPPED
        if not events or not table.load_timeline().has_commits():
            pending = len(undecided) - skipped
            return TableView(None, pending=pending, skipped=skipped, skip_reason=why)
        ledger = LedgerReader(name, self._app.stores.ledger, table, self._app.events)
        state = ledger.find_state(events[0]["object_id"])
        uri = None if state is None else build_uri(state.provider, state.bucket, state.key)
        # A replay processes no event from before the checkpoint, but one of its own.
        is_behind = [state is None or at > progress.checkpoint for at in undecided]
        pending = sum(is_behind) - (skipped if state is None else 0)
        counts = find_row_counts(table, [uri]).get(uri, {}) if uri else {}
        rows = {version: sum(writes) for version, writes in counts.items()}
        place = self._find_place(name, table, events[0]["key"])
        return TableView(None, state, rows, pending, skipped, why, place)

    def _find_place(self, name: str, table: Table, key: str) -> tuple[str, str] | None:
        names = build_sets(self._settings, name)
        return None if names is None else load_set_progress(table).place(names, key)

    def _open(self, name: str) -> Table:
        return Table(self._app.spark, table_path(self._settings.lake, name))

    def _read_quarantine(self, bucket: str, key: str) -> Sequence[Row]:
        rows = QuarantineReader(quarantine_path(self._settings.lake), self._options).list_rows()
        return [row for row in rows if row["bucket"] == bucket and row["key"] == key]


def parse_uri(uri: str, settings: Settings) -> tuple[SourceConfig, str]:
    """Return source and key of an address (`s3://bucket/key`, a path in a source folder). A key alone is
    enough if there is only one source.

    Raises `UsageError` for an address of no source.
    """
    if not is_utf8(uri):
        raise UsageError(
            f"{format_name(uri)} is not UTF-8: no table can store this name as a key",
            hint="rename the file; until then it is in quarantine: headwater quarantine list",
        )
    if len(settings.sources) == 1:
        return settings.sources[0], build_source(settings.sources[0]).parse_address(uri)
    is_path = uri.startswith("/")
    found: list[tuple[SourceConfig, str]] = []
    for source in settings.sources:
        # A source takes anything else for a key.
        if is_path if source.type == "local" else "://" in uri:
            with suppress(UsageError):
                found.append((source, build_source(source).parse_address(uri)))
    if not found:
        shown = ", ".join(source.address for source in settings.sources)
        raise UsageError(f"{uri} is not an address in one of the sources", hint=f"the sources are {shown}")
    # Several sources may have prefixes of one bucket.
    return next(((source, key) for source, key in found if key.startswith(source.prefix)), found[0])


def _position_of(row: Row) -> Position:
    return Position(row["completed"], row["batch_index"])


def _choose_status(events: Sequence[Row], tables: Mapping[str, TableView]) -> tuple[str, str]:
    if all(view.filtered_by for view in tables.values()):
        rules = ", ".join(f"{name}: {view.filtered_by}" for name, view in tables.items())
        return "filtered", f"no table includes it ({rules})"
    if not events:
        return "unknown", "no event names it; run `headwater reconcile` to find lost notifications"
    found: dict[str, str] = {}
    for name, view in tables.items():
        if view.filtered_by:
            continue
        if view.pending or (view.state is None and not view.skipped):
            found.setdefault("pending", f"{name}: {view.pending} of its events are pending")
        if view.state is None and view.skipped:
            found.setdefault("skipped", f"{name}: {view.skip_reason}")
        if view.place is not None:
            found.setdefault(view.place[0], f"{name}: {view.place[1]}")
        elif view.state is not None:
            reason = view.state.detail or view.state.reason
            found.setdefault(view.state.status, f"{name}: {reason}" if reason else "")
    status = next(status for status in _STATUS_ORDER if status in found)
    return status, found[status]
