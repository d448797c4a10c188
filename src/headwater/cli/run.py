"""`headwater run`: ingests objects into tables, continuously or once."""

import sys
import threading
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.objects.clean_source import describe_clean
from headwater.cli.rendering import render_error, render_json, render_table, render_text
from headwater.cli.signals import stop_on_signals
from headwater.cli.sources import choose_form
from headwater.cli.table_names import TablesOption

if TYPE_CHECKING:
    from headwater.app.components import RunReport, TableTotals
    from headwater.app.roles import Roles
    from headwater.config.listen_address import ListenAddress
    from headwater.config.settings import Settings

FAILED = 1
INCOMPLETE = 3


class RoleName(Enum):
    """A role in `headwater.app.roles`, which the help must not load."""

    CAPTURE = "capture"
    TABLES = "tables"
    SERVICES = "services"
    INDEX = "index"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Ingest all pending objects, then exit.")] = False,
    tables: TablesOption = None,
    only: Annotated[
        list[RoleName] | None,
        typer.Option(
            "--only",
            help="Take on this part of a run only; other processes do the rest. Repeatable.",
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port",
            min=1,
            max=65535,
            help="Serve /metrics, /healthz and /readyz on this port of 127.0.0.1, whatever "
            "observability.listen says.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Capture events and ingest objects into every table, continuously or once.

    With --only, several processes share the work, each with its own part.

    SIGTERM and Ctrl-C finish open batches, then exit. SIGHUP finishes them, then continues with the changed
    configuration file. Exit code 3: quarantine is not empty.
    """
    invocation = Invocation.of(ctx)
    load = invocation.load_settings
    settings = load()
    choose_roles = partial(choose, only=only or (), tables=tables or ())
    choose_roles(settings)
    address = find_address(settings, metrics_port)
    # The log file gets the lines that progress replaces on the screen.
    has_log_file = settings.observability.log_file is not None
    shown = once and not as_json and not has_log_file and invocation.shows_progress
    report = run_app(
        settings, once=once, choose_roles=choose_roles, load=load, address=address, shows_progress=shown
    )
    quarantined = count_quarantined(settings)
    if as_json:
        render_json(
            {
                "capture": report.capture,
                "tables": report.tables,
                "quarantined": quarantined,
                "reconcile": choose_form(settings, report.reconciles),
                "clean_source": choose_form(settings, report.cleans),
            }
        )
    else:
        render_report(report, quarantined, list_unmatched(settings, report))
    failures = [*report.failures.values(), *report.component_failures.values()]
    for error in failures:
        render_error(error, as_json=as_json)
    if failures:
        raise typer.Exit(FAILED)
    if once and quarantined:
        raise typer.Exit(INCOMPLETE)


def choose(settings: "Settings", only: Sequence[RoleName], tables: Sequence[str]) -> "Roles":
    """Return the roles of this process. Raises `UsageError`."""
    from headwater.app.roles import choose_roles

    return choose_roles(settings, [name.value for name in only], tables)


def run_app(
    settings: "Settings",
    *,
    once: bool,
    choose_roles: "Callable[[Settings], Roles]",
    load: "Callable[[], Settings]",
    address: "ListenAddress | None" = None,
    shows_progress: bool = False,
) -> "RunReport":
    """Check, wire and run; after SIGHUP, continue with what `load` returns. Raises `HeadwaterError`.

    `shows_progress`: a line for each step on stderr, instead of the log.
    """
    from headwater.config.environment import read_environment
    from headwater.lake.allocator import limit_arenas
    from headwater.observability.logging import configure_logging

    limit_arenas(read_environment())
    stop, reload = threading.Event(), threading.Event()
    on_hangup = None if once else reload.set
    # Before the imports, which take a second: a signal during them must also end the run in order.
    with stop_on_signals(stop, settings.stop_timeout, on_hangup) as signals:
        from headwater.app.log_file import log_to_file
        from headwater.app.progress import Progress
        from headwater.app.run_process import RunEvents, RunProcess

        progress = Progress(sys.stderr if shows_progress else None)

        def note_session() -> None:
            signals.arm()
            progress.note_session()

        if shows_progress:
            configure_logging(verbose=False, json=False, quiet=True)
            progress.note_start()
        events = RunEvents(stop, signals.was_asked, reload, note_session)
        process = RunProcess(choose_roles, load, events, address, observer=progress.build_observer())
        with log_to_file(settings.observability):
            return process.run(settings, once=once)


def find_address(settings: "Settings", metrics_port: int | None) -> "ListenAddress | None":
    """Return where to serve the endpoints: the option's port on this machine, or else as configured."""
    from headwater.config.listen_address import ListenAddress, parse_listen_address

    if metrics_port is not None:
        return ListenAddress("127.0.0.1", metrics_port)
    listen = settings.observability.listen
    return None if listen is None else parse_listen_address(listen)


def count_quarantined(settings: "Settings") -> int:
    """Return the number of items in quarantine now, from any run."""
    from headwater.app.status import read_quarantine_status
    from headwater.lake.storage_options import build_storage_options

    options = build_storage_options(settings.lake, settings.lake_storage)
    return read_quarantine_status(settings.lake, options).total


def describe_others(totals: "TableTotals") -> str:
    """Describe the counts without a column."""
    reasons = [f"{count} {reason}" for reason, count in sorted(totals.reasons.items())]
    return ", ".join([*reasons, *([f"{totals.deleted:,} rows deleted"] if totals.deleted else [])])


def list_unmatched(settings: "Settings", report: "RunReport") -> list[str]:
    """Return tables that saw only events of other keys and never had a row: their path may be wrong."""
    from headwater.app.status import has_commits

    seen = [name for name, totals in report.tables.items() if totals.filtered and not totals.objects]
    return [name for name in seen if not has_commits(settings, name)]


def render_report(report: "RunReport", quarantined: int, unmatched: Sequence[str] = ()) -> None:
    """Print the run's result as a table, with a hint for each table that never matched a key."""
    capture = report.capture
    render_text(
        f"{capture.events:,} events captured from {capture.messages:,} messages"
        + (f", {capture.duplicates:,} duplicates" if capture.duplicates else "")
        + (f", {capture.quarantined:,} unusable" if capture.quarantined else "")
    )
    render_table(
        ("table", "ingested", "rows", "bad rows", "other objects", "commits"),
        [
            (
                name,
                totals.objects["ingested"],
                totals.rows,
                totals.bad_rows,
                describe_others(totals),
                totals.commits,
            )
            for name, totals in report.tables.items()
        ],
    )
    for done in report.reconciles:
        where = f"{done.bucket}: " if len(report.reconciles) > 1 else ""
        render_text(
            f"{where}{done.listed:,} objects listed: {done.missing:,} missing, {done.changed:,} changed and "
            f"{done.vanished:,} deleted without a notification"
        )
    for clean in report.cleans:
        render_text(describe_clean(clean))
    for name in unmatched:
        filtered = report.tables[name].filtered
        render_text(f"{name}: no rows yet; its path matches no key of {filtered:,} events. List the keys:")
        render_text('  headwater sql "select distinct key from events limit 10"')
    if quarantined:
        render_text(f"{quarantined:,} items in quarantine; list them: headwater quarantine list")
