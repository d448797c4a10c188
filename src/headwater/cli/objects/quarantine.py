"""`headwater quarantine`: unusable objects, messages and records, and why."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.app.since import parse_since
from headwater.capture.quarantine_item import QuarantineLevel
from headwater.cli.completion import complete_table
from headwater.cli.invocation import Invocation, JsonFlag, open_app
from headwater.cli.rendering import render_json, render_json_lines, render_table, render_text
from headwater.errors import UsageError
from headwater.sources.kafka.ranges import find_offset

if TYPE_CHECKING:
    from headwater.capture.quarantine_reader import QuarantineReader, Row

INCOMPLETE = 3
_DETAIL_CHARS = 160

IdsOption = Annotated[
    list[str] | None,
    typer.Option("--id", help="Restrict to this id, or to a unique prefix of it. Repeatable."),
]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Restrict to this reason.")]
TableOption = Annotated[
    str | None, typer.Option("--table", autocompletion=complete_table, help="Restrict to this data table.")
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", help="Restrict to items since a time (2026-01-31T12:00) or an age (90m, 7d)."),
]


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(
        no_args_is_help=True, help="List, show, retry or drop quarantined messages, objects and records."
    )
    group.command("list")(list_items)
    group.command("show")(show)
    group.command("retry")(retry)
    group.command("drop")(drop)
    app.add_typer(group, name="quarantine")


def list_items(
    ctx: typer.Context,
    level: Annotated[QuarantineLevel | None, typer.Option("--level", help="Restrict to this level.")] = None,
    reason: ReasonOption = None,
    table: TableOption = None,
    since: SinceOption = None,
    as_json: JsonFlag = False,
) -> None:
    """List the items in quarantine, newest first. --json prints one object per line."""
    from headwater.capture.quarantine_reader import QuarantineFilter

    after = parse_since(since, datetime.now(timezone.utc)) if since else None
    rows = _open(ctx).list_rows(QuarantineFilter(level, reason, table, after))
    if as_json:
        render_json_lines(rows)
        return
    if not rows:
        render_text("Quarantine is empty.")
        return
    names = ("quarantine_id", "quarantined_at", "level", "table", "reason")
    render_table(
        ("id", "time", "level", "table", "reason", "what", "detail"),
        [[*(row[name] for name in names), _describe_location(row), _shorten(row["detail"])] for row in rows],
        is_paged=True,
    )
    render_text(f"\n{_count_levels(rows)}. Show one: headwater quarantine show ID")


def show(
    ctx: typer.Context,
    quarantine_id: Annotated[
        str, typer.Argument(metavar="ID", help="The item's id, or a unique prefix of it.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Show all fields and the payload of one item."""
    row = _open(ctx).load_row(quarantine_id)
    if as_json:
        render_json(row)
        return
    known = [(name, value) for name, value in row.items() if value is not None and name != "payload"]
    render_table(("field", "value"), [(name, _plain(value)) for name, value in known])
    if row["payload"] is not None:
        render_text(f"\npayload:\n{row['payload']}")
    if row["event_id"] is not None:
        query = " ".join(("select * from events where event_id =", f"'{row['event_id']}'"))
        render_text(f'\nShow its event: headwater sql "{query}"')


def retry(
    ctx: typer.Context,
    ids: IdsOption = None,
    reason: ReasonOption = None,
    table: TableOption = None,
    since: SinceOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Retry quarantined items; successful ones leave quarantine. Rejected while a run is active.

    Objects are re-read in their current state, and messages are parsed again. Exit code 3: some items fail
    again.
    """
    from headwater.app.objects.redrive import Redrive

    rows = _choose(ctx, ids, reason, table, since)
    with open_app(ctx, writing="quarantine retry") as app:
        report = Redrive(app).retry(rows)
    if as_json:
        render_json(report)
    else:
        render_text(f"{report.tried:,} items retried, {report.resolved:,} resolved")
    if report.resolved < report.tried:
        raise typer.Exit(INCOMPLETE)


def drop(
    ctx: typer.Context,
    ids: IdsOption = None,
    reason: ReasonOption = None,
    table: TableOption = None,
    since: SinceOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm; without it, only the count is shown.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Drop quarantined items; their objects count as skipped from then on.

    Rejected while a run is active.
    """
    from headwater.app.objects.redrive import Redrive

    rows = _choose(ctx, ids, reason, table, since)
    if not yes:
        raise UsageError(
            f"not confirmed: this would drop {_count_levels(rows) or 'nothing'}",
            hint="add --yes to drop them permanently",
        )
    with open_app(ctx, writing="quarantine drop") as app:
        dropped = Redrive(app).drop(rows)
    if as_json:
        render_json({"dropped": dropped})
    else:
        render_text(f"dropped {dropped:,} items")


def _choose(
    ctx: typer.Context, ids: list[str] | None, reason: str | None, table: str | None, since: str | None
) -> "list[Row]":
    from headwater.capture.quarantine_reader import QuarantineFilter

    reader = _open(ctx)
    if ids:
        return [reader.load_row(quarantine_id) for quarantine_id in ids]
    after = parse_since(since, datetime.now(timezone.utc)) if since else None
    return reader.list_rows(QuarantineFilter(None, reason, table, after))


def _open(ctx: typer.Context) -> "QuarantineReader":
    from headwater.capture.quarantine_reader import QuarantineReader
    from headwater.lake.layout import quarantine_path
    from headwater.lake.storage_options import build_storage_options

    settings = Invocation.of(ctx).load_settings()
    options = build_storage_options(settings.lake, settings.lake_storage)
    return QuarantineReader(quarantine_path(settings.lake), options)


def _describe_location(row: "Row") -> str:
    if row["key"] is None:
        return f"message {row['message_id']}" if row["message_id"] else str(row["detail"])
    if row["line"] is None:
        return f"{row['bucket']}/{row['key']}"
    message = find_offset(str(row["key"]), int(str(row["line"])))
    if message is not None:
        return f"{row['bucket']}/{message[0]}, offset {message[1]}"
    return f"{row['bucket']}/{row['key']}, line {row['line']}"


def _shorten(detail: object) -> str:
    """Return the first line of a detail, cut; `show` prints all of it."""
    line = str(detail or "").partition("\n")[0]
    return line if len(line) <= _DETAIL_CHARS else f"{line[:_DETAIL_CHARS]}…"


def _count_levels(rows: "Sequence[Row]") -> str:
    counts = Counter(str(row["level"]) for row in rows)
    return ", ".join(f"{count} {level}{'' if count == 1 else 's'}" for level, count in counts.items())


def _plain(value: object) -> object:
    # A line number needs no thousands separators.
    return str(value) if isinstance(value, int) else value
