"""Which objects a rehearsal reads."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nlargest

from headwater.app.application import App
from headwater.app.scope import build_scope, list_buckets
from headwater.capture.event_extract import EventExtract, copy_events
from headwater.capture.events_table import EventsTable
from headwater.capture.position import BEGINNING, END, EventRange, Position, build_position
from headwater.errors import UsageError
from headwater.ingest.planning.plan import Scope

DEFAULT_DAYS = 7.0


@dataclass(frozen=True, slots=True)
class RehearsalWindow:
    """Objects with events committed in the last `days`, or the newest `objects` of each table.

    Raises `UsageError` for both. Default: `DEFAULT_DAYS`.
    """

    days: float | None = None
    objects: int | None = None

    def __post_init__(self) -> None:
        """Check the combination."""
        if self.days is not None and self.objects is not None:
            raise UsageError("--days and --objects exclude each other", hint="specify --days or --objects")

    def describe(self) -> str:
        """Return the window as part of a sentence."""
        if self.objects is not None:
            return f"the newest {self.objects:,} objects of each table"
        return f"objects with events of the last {self.days or DEFAULT_DAYS:g} days"


def copy_window(
    app: App,
    window: RehearsalWindow,
    scopes: dict[str, list[Scope]],
    targets: list[EventsTable],
    now: datetime,
) -> int:
    """Append the events of the chosen objects to the targets; return their number.

    `scopes` by table. Events that one of the tables has not read yet are left out. Raises `LakeError`.
    """
    until = find_end(app, list(scopes))
    extract = EventExtract(app.events, until)
    buckets = {
        location.bucket for found in scopes.values() for scope in found for location in scope.locations
    }
    if window.objects is None:
        since = build_position(now - timedelta(days=window.days or DEFAULT_DAYS))
        chosen = extract.choose_since(since, buckets)
    else:
        newest = {
            found for table in scopes.values() for found in _list_newest(app, table, window.objects, until)
        }
        chosen = extract.choose(sorted(newest))
    return 0 if chosen is None else copy_events(chosen, targets)


def find_end(app: App, tables: list[str]) -> Position:
    """Return the oldest checkpoint of the tables that have one; without any, the end of all events."""
    known = [app.load_progress(name).checkpoint for name in tables if name in app.settings.object_tables]
    return min((found for found in known if found > BEGINNING), default=END)


def _list_newest(app: App, scopes: list[Scope], count: int, until: Position) -> list[tuple[str, str]]:
    buckets = dict.fromkeys(location.bucket for scope in scopes for location in scope.locations)
    found = (
        (time, bucket, key)
        for bucket in buckets
        for key, time in app.events.iter_newest_in([EventRange(BEGINNING, until)], bucket)
        if any(scope.includes(bucket, key) for scope in scopes)
    )
    return [(bucket, key) for _, bucket, key in nlargest(count, found)]


def list_scopes(app: App, other: App, names: list[str]) -> dict[str, list[Scope]]:
    """Return the scopes of the tables built from objects, by table: of both configurations."""
    return {
        name: [build_scope(one.settings, name) for one in (app, other) if name in one.settings.object_tables]
        for name in names
        if name in app.settings.object_tables or name in other.settings.object_tables
    }


def list_providers(app: App, other: App) -> dict[str, str]:
    """Return the providers of the buckets of both configurations."""
    return list_buckets(app.settings) | list_buckets(other.settings)
