"""`headwater explain`: how one object was handled, and why."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text

if TYPE_CHECKING:
    from headwater.app.objects.explain import Explanation, TableView
    from headwater.config.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    ctx: typer.Context,
    uri: Annotated[str, typer.Argument(metavar="URI", help="Object: s3://bucket/key, a path, or a key.")],
    as_json: JsonFlag = False,
) -> None:
    """Show every event, decision, commit, row count and error of one object."""
    settings = Invocation.of(ctx).load_settings()
    found = read_explanation(settings, uri)
    if as_json:
        render_json(found)
    else:
        render_explanation(found)


def read_explanation(settings: "Settings", uri: str) -> "Explanation":
    """Wire and read. Raises `HeadwaterError`."""
    from headwater.app import App
    from headwater.app.objects.explain import Explain, parse_uri

    parse_uri(uri, settings)
    app = App(settings)
    try:
        return Explain(app).explain(uri)
    finally:
        app.close()


def render_explanation(found: "Explanation") -> None:
    """Print the explanation in chronological order."""
    render_text(found.uri)
    render_text(f"status: {found.status}" + (f" ({found.reason})" if found.reason else ""))
    if found.events:
        render_text("\nevents, in object order")
        _render_events(found)
    if found.decisions:
        render_text("\ndecisions")
        _render_decisions(found)
    render_text("\ncurrent state by table")
    for name, view in found.tables.items():
        render_text(f"{name}: {_describe(view)}")
    for row in found.quarantine:
        line = f", line {row['line']}" if row["line"] is not None else ""
        problem = f"{row['reason']}{line}: {row['detail']}"
        render_text(f"quarantine {row['quarantine_id']}: {row['table']}: {problem}")


def _render_events(found: "Explanation") -> None:
    render_table(
        ("time", "event", "version or etag", "size", "source", "message", "commit", "id"),
        [
            (
                row["event_time"],
                row["event_name"],
                row["version_id"] or row["etag"],
                row["size"],
                row["source"],
                row["message_id"],
                row["commit"],
                row["event_id"][:12],
            )
            for row in found.events
        ],
    )


def _render_decisions(found: "Explanation") -> None:
    render_table(
        ("time", "table", "outcome", "reason", "rows", "bad rows", "version", "commit", "event"),
        [
            (
                made.decided_at,
                made.table,
                made.outcome,
                made.detail or made.reason,
                made.rows,
                made.bad_rows,
                made.version,
                made.commit,
                made.event_id[:12],
            )
            for made in found.decisions
        ],
    )


def _describe(view: "TableView") -> str:
    if view.filtered_by:
        return f"excluded by its rule `{view.filtered_by}`"
    rows = ", ".join(f"{count:,} rows of {version}" for version, count in (view.rows or {}).items())
    waiting = f", {view.pending} pending events" if view.pending else ""
    passed = f", {view.skipped} skipped events" if view.skipped else ""
    without = "skipped" if passed and not waiting else "not processed yet"
    state: str = view.state.status if view.state else without
    if view.place is not None:
        state = f"{view.place[0]}: {view.place[1]}"
    return f"{state}, {rows or 'no rows'}{waiting}{passed}"
