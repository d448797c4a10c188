"""`headwater quarantine`: what could not be used, and why."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.capture.quarantine_item import QuarantineLevel
from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_json_lines, render_table, render_text
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.capture.quarantine_reader import QuarantineReader, Row

_AGE = re.compile(r"(?P<count>\d{1,6})\s*(?P<unit>[smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, help="Messages, objects and records that could not be used.")
    group.command("list")(list_items)
    group.command("show")(show)
    app.add_typer(group, name="quarantine")


def list_items(
    ctx: typer.Context,
    level: Annotated[QuarantineLevel | None, typer.Option("--level", help="Only this level.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Only this reason.")] = None,
    table: Annotated[str | None, typer.Option("--table", help="Only of this data table.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only since a time (2026-01-31T12:00) or an age (90m, 7d).")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List what lies in quarantine, newest first; --json prints one object a line."""
    from headwater.capture.quarantine_reader import QuarantineFilter

    after = parse_since(since, datetime.now(timezone.utc)) if since else None
    rows = _open(ctx).list_rows(QuarantineFilter(level, reason, table, after))
    if as_json:
        render_json_lines(rows)
        return
    if not rows:
        render_text("Nothing in quarantine.")
        return
    names = ("quarantine_id", "quarantined_at", "level", "table", "reason")
    render_table(
        ("id", "time", "level", "table", "reason", "what"),
        [[*(row[name] for name in names), _describe_place(row)] for row in rows],
    )
    render_text(f"\n{_count_levels(rows)}. More of one: headwater quarantine show ID")


def show(
    ctx: typer.Context,
    quarantine_id: Annotated[str, typer.Argument(metavar="ID", help="The id, or how it begins.")],
    as_json: JsonFlag = False,
) -> None:
    """Show one item: everything known about it, and its payload."""
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
        render_text(f'\nIts event: headwater sql "{query}"')


def parse_since(text: str, now: datetime) -> datetime:
    """A time (UTC where it names no zone) or an age before `now`. Raises `UsageError`."""
    try:
        if age := _AGE.fullmatch(text.strip()):
            return now - timedelta(**{_UNITS[age["unit"]]: int(age["count"])})
        # Python 3.10 does not know Z.
        time = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text.strip()))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since {text}: neither a time nor an age",
            hint="times: 2026-01-31 or 2026-01-31T12:00Z; ages: 90m, 24h, 7d",
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _open(ctx: typer.Context) -> "QuarantineReader":
    from headwater.capture.quarantine_reader import QuarantineReader
    from headwater.lake.layout import quarantine_path
    from headwater.lake.s3 import build_storage_options

    settings = Invocation.of(ctx).load_settings()
    options = build_storage_options(settings.lake, settings.lake_storage)
    return QuarantineReader(quarantine_path(settings.lake), options)


def _describe_place(row: "Row") -> str:
    if row["key"] is None:
        return f"message {row['message_id']}" if row["message_id"] else str(row["detail"])
    line = f", line {row['line']}" if row["line"] is not None else ""
    return f"{row['bucket']}/{row['key']}{line}"


def _count_levels(rows: "Sequence[Row]") -> str:
    counts = Counter(str(row["level"]) for row in rows)
    return ", ".join(f"{count} {level}{'' if count == 1 else 's'}" for level, count in counts.items())


def _plain(value: object) -> object:
    # A line number is not a quantity.
    return str(value) if isinstance(value, int) else value
