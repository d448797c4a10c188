"""`headwater skip-to`: moves the checkpoint of a table forward, without processing the events up to it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from headwater.app.application import App
from headwater.app.scope import build_scope
from headwater.capture.position import (
    BEGINNING,
    EventRange,
    Position,
    build_position,
    parse_instant,
)
from headwater.errors import UsageError


@dataclass(frozen=True, slots=True)
class SkipReport:
    """The events of `objects`, committed after `after` (None: from the first one on) and up to `until`, are
    skipped."""

    table: str
    objects: int
    after: datetime | None
    until: datetime


Point = Literal["latest"] | datetime


def skip_to(app: App, name: str, point: Point, *, dry_run: bool = False) -> SkipReport:
    """Skip the table's unprocessed events that were committed before the point, `latest` all of them.

    Call it inside `hold_for_command`, unless it is a dry run. Raises `UsageError` for a table without
    commits, and for a point that is in the future or not after the table's checkpoint.
    """
    scope, progress = build_scope(app.settings, name), app.load_progress(name)
    rows = app.build_rows(name)
    if not rows.has_commits():
        raise UsageError(
            f"table {name} has no commit yet, and no checkpoint to move",
            hint=f"set `tables.{name}.start_from`: it applies until the first commit",
        )
    target = _find_target(app, name, point)
    skipped = EventRange(progress.checkpoint, target)
    if skipped.until <= skipped.after:
        raise UsageError(
            f"table {name} has already processed the events up to {_describe(skipped.after)}",
            hint="specify a later time, or `latest`; to ingest objects again: headwater replay",
        )
    count = sum(
        scope.includes(bucket, key)
        for bucket in scope.buckets
        for key, _ in app.events.iter_newest_in([skipped], bucket)
    )
    if not dry_run:
        rows.write_progress(progress.skip_to(target))
    after = None if skipped.after == BEGINNING else parse_instant(skipped.after.completed)
    return SkipReport(name, count, after, parse_instant(target.completed))


def _find_target(app: App, name: str, point: Point) -> Position:
    newest = app.events.find_newest()
    target = newest if point == "latest" else build_position(point)
    if target > newest:
        raise UsageError(
            f"table {name}: no event is as new as {_describe(target)}; the newest one was committed at "
            f"{_describe(newest)}",
            hint="specify an earlier time, or `latest`",
        )
    return target


def _describe(position: Position) -> str:
    if position == BEGINNING:
        return "the beginning"
    return f"{parse_instant(position.completed):%Y-%m-%d %H:%M:%SZ}"
