"""Determines the tables of each object, and the effect of rules that changed since a table was filled."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import merge
from itertools import groupby
from operator import itemgetter

from headwater.app.application import App, read_clock
from headwater.app.objects.redrive import Redrive, drain
from headwater.app.scope import build_scope, list_buckets
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.control_events import REPAIR_EVENT, RETRACT_EVENT, build_control_event
from headwater.capture.position import BEGINNING, build_position, find_gaps
from headwater.capture.reconcile.known_states import KnownStates
from headwater.errors import UsageError
from headwater.ingest.committed_state import CommittedState, parse_committed_state
from headwater.ingest.ledger.reading import LedgerReader
from headwater.ingest.lineage import build_uri
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.plan import Scope
from headwater.lake.layout import table_path
from headwater.lake.table import Table

_EXAMPLES = 20


@dataclass(slots=True)
class TableRouting:
    """One table. Its current rules add `to_load` objects and exclude `to_retract`, compared with before."""

    claimed: int = 0
    rules_changed: bool = False
    to_load: int = 0
    to_retract: int = 0
    ingested: int = 0
    load_examples: list[str] = field(default_factory=list)
    retract_examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RoutingReport:
    """All keys that any event names."""

    keys: int = 0
    unclaimed: int = 0
    unclaimed_examples: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)
    tables: dict[str, TableRouting] = field(default_factory=dict)


class Routing:
    """Reads the tables of one `App`; `apply` and `replay` write. Raises `HeadwaterError`."""

    def __init__(self, app: App, now: Callable[[], datetime] = read_clock) -> None:
        self._app = app
        self._settings = app.settings
        self._now = now
        self._scopes = {name: build_scope(app.settings, name) for name in app.settings.object_tables}
        self._providers = list_buckets(app.settings)

    def read(self) -> RoutingReport:
        """Return the claims of all tables; for tables with changed rules, what they would load and
        retract."""
        report = RoutingReport(tables={name: TableRouting() for name in self._scopes})
        for bucket in self._providers:
            for key in self._app.events.iter_keys_after(BEGINNING, bucket):
                self._add_claims(report, bucket, key)
        for name, table in report.tables.items():
            self._compare(name, table)
        return report

    def _add_claims(self, report: RoutingReport, bucket: str, key: str) -> None:
        claiming = [name for name, scope in self._scopes.items() if scope.includes(bucket, key)]
        report.keys += 1
        for name in claiming:
            report.tables[name].claimed += 1
        if not claiming:
            report.unclaimed += 1
            _note(report.unclaimed_examples, self._show(bucket, key))
        elif len(claiming) > 1:
            together = " + ".join(claiming)
            report.shared[together] = report.shared.get(together, 0) + 1

    def _show(self, bucket: str, key: str) -> str:
        """Return the key; with several buckets, the address."""
        return key if len(self._providers) == 1 else build_uri(self._providers[bucket], bucket, key)

    def apply(self, only: Sequence[str] = (), *, yes: bool = False) -> RoutingReport:
        """Load and retract objects according to the changed rules. Call it inside `hold_for_command`.

        Raises `UsageError` when that would empty a table, unless `yes`.
        """
        report = self.read()
        changed = [name for name in only or self._scopes if report.tables[name].rules_changed]
        if not yes:
            _check_none_emptied(report, changed)
        redrive = Redrive(self._app, self._now)
        for name in changed:
            redrive.append(self._iter_changes(name))
        for name in changed:
            drain(self._app.build_pipeline(name, adopts_rules=True))
        return report

    def check(self, only: Sequence[str]) -> None:
        """Raise `UsageError` if `apply` would empty a table."""
        report = self.read()
        _check_none_emptied(report, [name for name in only if report.tables[name].rules_changed])

    def replay(self, name: str, since: datetime, *, dry_run: bool = False) -> int:
        """Re-ingest every object with an event since `since`; return their number.

        Call it inside `hold_for_command`, unless it is a dry run.
        """
        scope = build_scope(self._settings, name)
        found = (
            (bucket, key)
            for bucket in scope.buckets
            for key in self._app.events.iter_keys_after(build_position(since), bucket)
            if scope.includes(bucket, key)
        )
        if dry_run:
            return sum(1 for _ in found)
        redrive, now = Redrive(self._app, self._now), self._now()
        count = redrive.append(redrive.ask_again(bucket, key, now) for bucket, key in found)
        redrive.run_tables([name])
        progress = self._app.load_progress(name)
        replayed = progress.replay_from(build_position(since))
        if replayed != progress:
            self._app.build_rows(name).write_progress(replayed)
        return count

    def _compare(self, name: str, table: TableRouting) -> None:
        stored = self._load_state(name).rules
        table.rules_changed = bool(stored) and stored != self._settings.tables[name].rules
        if not table.rules_changed:
            return
        for bucket in self._providers:
            for key, state, is_load in self._iter_differences(name, bucket):
                if state is not None and state.status == "ingested":
                    table.ingested += 1
                if is_load is True:
                    table.to_load += 1
                    _note(table.load_examples, self._show(bucket, key))
                elif is_load is False:
                    table.to_retract += 1
                    _note(table.retract_examples, self._show(bucket, key))

    def _iter_changes(self, name: str) -> Iterator[CapturedEvent]:
        now = self._now()
        for bucket, provider in self._providers.items():
            for key, _, is_load in self._iter_differences(name, bucket):
                if is_load is not None:
                    event = REPAIR_EVENT if is_load else RETRACT_EVENT
                    yield build_control_event(event, provider, bucket, key, now)

    def _iter_differences(
        self, name: str, bucket: str
    ) -> Iterator[tuple[str, LedgerEntry | None, bool | None]]:
        """Yield key, the table's ledger entry, and whether to load (True) or retract (False) the object."""
        scope = self._scopes[name]
        ledger = LedgerReader(name, self._app.stores.ledger, self._open(name), self._app.events)
        known = KnownStates(self._app.events, stored=self._app.event_groups)
        prefixes = {one.prefix for one in scope.locations if one.bucket == bucket}
        prefix = prefixes.pop() if len(prefixes) == 1 else ""
        present: Iterable[str] = (found.key for found in known.iter_known(bucket, prefix))
        if skipped := self._app.load_progress(name).skipped:
            others = self._app.events.iter_newest_in(find_gaps(skipped), bucket)
            present = intersect(present, (key for key, _ in others))
        streams = merge(
            ((key, None) for key in present),
            ((state.key, state) for state in ledger.iter_states(bucket)),
            key=itemgetter(0),
        )
        for key, group in groupby(streams, key=itemgetter(0)):
            found = [state for _, state in group]
            state = next((state for state in found if state is not None), None)
            yield key, state, _find_difference(scope, bucket, key, state, is_present=None in found)

    def _load_state(self, name: str) -> CommittedState:
        timeline = self._open(name).load_timeline()
        return parse_committed_state(timeline.find_metadata("checkpoint") if timeline.exists() else None)

    def _open(self, name: str) -> Table:
        return Table(self._app.spark, table_path(self._settings.lake, name))


def intersect(some: Iterable[str], others: Iterable[str]) -> Iterator[str]:
    """Yield the keys that both have; each is sorted and distinct."""
    for key, group in groupby(merge(some, others)):
        if sum(1 for _ in group) == 2:
            yield key


def _find_difference(
    scope: Scope, bucket: str, key: str, state: LedgerEntry | None, *, is_present: bool
) -> bool | None:
    is_known = state is not None and state.reason != "filtered"
    if scope.includes(bucket, key):
        return True if is_present and not is_known else None
    return False if is_known else None


def _check_none_emptied(report: RoutingReport, names: Iterable[str]) -> None:
    for name in names:
        table = report.tables[name]
        if table.to_retract and table.to_retract >= table.ingested:
            raise UsageError(
                f"table {name}: its rules would retract all of its {table.to_retract} objects",
                hint="correct its path and filters, or add --yes",
            )


def _note(examples: list[str], key: str) -> None:
    if len(examples) < _EXAMPLES:
        examples.append(key)
