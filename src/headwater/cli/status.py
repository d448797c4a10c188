"""`headwater status`: rows, lag, quarantine and last commits, without a JVM."""

import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.table_names import TablesOption

if TYPE_CHECKING:
    from headwater.app.iceberg import IcebergStatus
    from headwater.app.status import QueueStatus, SourceStatus, Status, TableStatus, WriterStatus
    from headwater.config.settings import Settings
    from headwater.observability.part_state import PartState

_WATCH_SECONDS = 2.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(
    ctx: typer.Context,
    tables: TablesOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every two seconds.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show events, lag, quarantine and the last commit of every table."""
    settings = Invocation.of(ctx).load_settings()
    only = tuple(tables or ())
    while True:
        found = read_status(settings, only)
        if as_json:
            render_json(found)
        else:
            render_status(found)
        if not watch:
            return
        time.sleep(_WATCH_SECONDS)


def read_status(settings: "Settings", only: tuple[str, ...] = ()) -> "Status":
    """Read the current status. Raises `LakeError`, and `UsageError` for an unknown table."""
    from headwater.app.status import StatusReader
    from headwater.lake.storage_options import build_storage_options

    options = build_storage_options(settings.lake, settings.lake_storage)
    return StatusReader(settings, options, datetime.now(timezone.utc)).read(only)


def render_status(found: "Status") -> None:
    """Print the status as text."""
    events, quarantine = found.events, found.quarantine
    render_text(f"events      {events.rows:,} rows, last commit {_format_time(events.last_commit)}")
    for source in found.sources:
        _render_source(source)
    for writer in found.writers:
        render_writer(writer)
    for note in found.catalogs:
        state = (
            f"failing since {note.failing_since}: {note.error}" if note.error else (f"synced {note.sent_at}")
        )
        render_text(f"catalog     {note.catalog}: {note.table}: {state}")
    for name, table in found.tables.items():
        if table.iceberg is not None:
            render_text(f"iceberg     {name}: {_describe_iceberg(table.iceberg)}")
        if table.sets is not None:
            render_text(f"sets        {name}: {table.sets.applied or 'none'} is in the table")
            for folder, why in table.sets.open.items():
                render_text(f"open set    {name}: {folder}: {why}")
        missing = [found.source for found in table.inputs if not found.has_commits]
        if len(table.inputs) > 1 and missing:
            render_text(f"waiting     {name}: {', '.join(missing)} has no commit yet")
        if table.adopted_until:
            render_text(f"adopted     {name}: events committed up to {_format_time(table.adopted_until)}")
        for skipped in table.skipped:
            since = f"from {_format_time(skipped.after)} to" if skipped.after else "up to"
            render_text(f"skipped     {name}: events committed {since} {_format_time(skipped.until)}")
    levels = ("messages", "objects", "records")
    counts = ", ".join(f"{getattr(quarantine, level):,} {level}" for level in levels)
    render_text(f"quarantine  {counts}")
    render_text("")
    render_table(
        ("table", "rows", "commits", "last commit", "event lag", "seconds lag"),
        [
            (name, t.rows, t.commits, _format_time(t.last_commit), _describe_lag(t), round(t.lag_seconds))
            for name, t in found.tables.items()
        ],
    )


def _render_source(source: "SourceStatus") -> None:
    label = f"{source.name}: " if source.name else ""
    if source.queue:
        render_text(f"queue       {label}{_format_queue(source.queue)}")
    if source.reconcile:
        done = source.reconcile
        state = _format_time(done.finished_at) if done.finished_at else f"unfinished, after {done.cursor!r}"
        render_text(
            f"reconcile   {label}{state}: {done.listed:,} listed, {done.missing:,} missing, {done.changed:,} "
            f"changed, {done.vanished:,} absent from the listing"
        )


def render_writer(writer: "WriterStatus") -> None:
    """Print an active process, the states of its parts in one line, and a line for each part that fails."""
    render_text(
        f"running     {writer.command} (process {writer.process} on {writer.machine}, since "
        f"{writer.since}): {', '.join((*writer.tables, *writer.shared))}"
    )
    if writer.parts:
        states = ", ".join(f"{name} {state.status}" for name, state in writer.parts.items())
        render_text(f"parts       {writer.health}: {states}")
    for name, state in writer.parts.items():
        if state.health != "ok":
            render_text(f"{state.status:<11} {name}: {_describe_state(state)}")


def _describe_iceberg(view: "IcebergStatus") -> str:
    shown = f"shows the commit of {_format_time(view.shown)}" if view.shown else "no view yet"
    lag = f", {view.lag_commits:,} commits behind" if view.lag_commits else ""
    since = f" since {view.failing_since}" if view.failing_since else ""
    error = f"; failing{since}: {view.error}" if view.error else ""
    return f"{shown}{lag}{error}"


def _describe_state(state: "PartState") -> str:
    attempts = f" ({state.attempt} failed attempts)" if state.attempt > 1 else ""
    return f"{state.error}{attempts}, since {_format_time(state.since)}"


def _describe_lag(table: "TableStatus") -> str | int:
    if table.follows is None:
        return table.lag_events
    return ", ".join(f"{found.behind:,} commits of {found.source}" for found in table.inputs)


def _format_queue(queue: "QueueStatus") -> str:
    if queue.error or queue.visible is None:
        return queue.error or "its depth is not reported"
    return f"{queue.visible:,} waiting, {queue.in_flight:,} in flight"


def _format_time(when: datetime | None) -> str:
    return when.strftime("%Y-%m-%d %H:%M:%SZ") if when else "never"
