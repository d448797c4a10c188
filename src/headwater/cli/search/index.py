"""`headwater index`: builds, syncs, inspects and rolls back the index."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.search import evaluate
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app.search import SearchIndex
    from headwater.rag.syncing.sync import SyncReport
    from headwater.rag.syncing.versions import Gate

FAILED = 1
INCOMPLETE = 3

group = typer.Typer(
    name="index", no_args_is_help=True, help="Build, sync, inspect and roll back the search index."
)


def register(app: typer.Typer) -> None:
    """Add the group."""
    evaluate.register(group)
    app.add_typer(group)


@group.command("build")
def build(
    ctx: typer.Context,
    queries: Annotated[
        Path | None, typer.Option("--queries", help="JSON lines: query_id, query. With --judgements.")
    ] = None,
    judgements: Annotated[
        Path | None, typer.Option("--judgements", help="JSON lines: query_id, product_id, grade.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Build a new version of the index, and make it live if it passes the quality gate.

    With judged queries, the gate requires that nDCG@10 does not fall. Without them, the index must not be
    empty, and rows must be found by their own vectors.

    Existing vectors are reused. If the chunks lag behind the table, Spark syncs them first; this is rejected
    while a run is active. Exit code 1: the new version failed the gate.
    """
    with closing(open_index(ctx)) as index:
        from headwater.app.search.chunks import ensure_chunks

        gate = choose_gate(index, queries, judgements)
        indexed = ensure_chunks(index)
        report = index.build(gate)
        index.optimize()
    if as_json:
        render_json({"build": report, "indexed": indexed})
    else:
        state = "live" if report.is_live else "dropped"
        render_text(f"{report.version}: {report.points:,} points, {state}: {report.verdict.reason}")
    if not report.is_live:
        raise typer.Exit(FAILED)


@group.command("sync")
def sync(
    ctx: typer.Context,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare all rows, and repair differences.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Sync the live version with the chunks table, which `headwater run` updates.

    Needs no JVM, and is idempotent. `headwater serve` syncs automatically.
    """
    with closing(open_index(ctx)) as index:
        report = index.reconcile() if compare else index.sync()
        index.optimize()
    if as_json:
        render_json({"sync": report})
    else:
        render_sync(report)


@group.command("status")
def status(
    ctx: typer.Context,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Count rows that differ from the chunks table. Exit code 3: there are some."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the versions of the index, the lag of the live one, and the embedded chunks."""
    with closing(open_index(ctx)) as index:
        found = index.read_status(compare=compare)
    if as_json:
        render_json(found)
    else:
        render_table(
            ("version", "live", "points", "as of", "synced", "as configured"),
            [
                (
                    one.name,
                    "yes" if one.is_live else "",
                    one.points,
                    one.as_of,
                    one.synced_at,
                    "yes" if one.is_as_configured else "no",
                )
                for one in found.versions
            ],
        )
        lag = (
            "no live version" if found.lag_seconds is None else f"{found.lag_seconds:.1f} s behind the table"
        )
        render_text(f"{found.table}: {lag}; {found.embedded:,} chunks embedded, {found.reused:,} reused")
        if found.divergence_rows is not None:
            render_text(f"{found.divergence_rows:,} rows differ from the chunks table")
        if found.problem:
            render_text(f"vector store unavailable: {found.problem}")
    if found.problem:
        raise typer.Exit(FAILED)
    if found.divergence_rows:
        raise typer.Exit(INCOMPLETE)


@group.command("rollback")
def rollback(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Make the previous version of the index live again."""
    with closing(open_index(ctx)) as index:
        version = index.versions.rollback()
    if as_json:
        render_json({"live": version})
    else:
        render_text(f"{version} is live")


def open_index(ctx: typer.Context) -> "SearchIndex":
    """Open the index of this invocation. Raises `ConfigError` without `search:` or its extra."""
    from headwater.config.extras.packages import ensure_extra

    ensure_extra("search", "`headwater index`")
    from headwater.app.search import SearchIndex
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    environ = read_environment()
    arm_crash_point(environ.get(CRASH_POINT_VARIABLE))
    return SearchIndex(Invocation.of(ctx).load_settings(), environ=environ)


def choose_gate(index: "SearchIndex", queries: Path | None, judgements: Path | None) -> "Gate":
    """Return a gate with judged queries, if given. Raises `UsageError` when only one of the two files is
    given."""
    from headwater.app.search.gate import build_gate
    from headwater.rag.syncing.versions import judge_by_canaries

    if queries is None and judgements is None:
        return judge_by_canaries
    if queries is None or judgements is None:
        raise UsageError("--queries and --judgements require each other", hint="specify both, or neither")
    return build_gate(queries, judgements, index.embedder, index.search.retrieval)


def render_sync(report: "SyncReport") -> None:
    """Print the result of a sync."""
    how = f"; all compared, {report.divergent_rows:,} rows differed" if report.compared else ""
    render_text(
        f"{report.upserted:,} points written, {report.fields_set:,} updated in their fields only, "
        f"{report.deleted:,} deleted{how}"
    )
