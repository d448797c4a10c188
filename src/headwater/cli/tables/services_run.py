"""`headwater services run`: table services in a separate process."""

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_error, render_json, render_table, render_text
from headwater.cli.signals import stop_on_signals
from headwater.cli.table_names import TablesOption

if TYPE_CHECKING:
    from headwater.app.services.worker import PassReport

FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Run table services alongside the writers.")
    group.callback()(describe)
    group.command("run")(run)
    app.add_typer(group, name="services")


def describe() -> None:
    """Run table services alongside the writers."""


def run(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Run the services that are due, then exit.")] = False,
    tables: TablesOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Compact, cluster, clean and archive the tables with `services: semi_async` or `async` during a `run`.

    SIGTERM and Ctrl-C finish the active service, then exit. Exit code 1 with --once: a table failed.
    """
    from headwater.app import App
    from headwater.app.duty import list_served
    from headwater.app.preflight import check_before_services
    from headwater.app.services.worker import ServicesWorker
    from headwater.app.services.writer_lease import hold_for_service
    from headwater.config.environment import read_environment

    settings, environ = Invocation.of(ctx).load_settings(), read_environment()
    app = App(settings, environ=environ)
    served = list_served(settings, tables or ())
    check_before_services(settings, environ)
    stop = threading.Event()
    with (
        stop_on_signals(stop, settings.stop_timeout) as signals,
        hold_for_service(settings, "services run", served) as lease,
        closing(app),
    ):
        lease.add_process(app.find_jvm_process())
        signals.arm()
        worker = ServicesWorker(app, served, lambda report: render_pass(report, as_json=as_json))
        if not once:
            worker.run_until(stop)
            return
        report = worker.run_pass()
    render_pass(report, as_json=as_json)
    for error in report.failures.values():
        render_error(error, as_json=as_json)
    if report.failures:
        raise typer.Exit(FAILED)


def render_pass(report: "PassReport", *, as_json: bool) -> None:
    """Print the result of one pass, a line per table."""
    if as_json:
        render_json({"tables": report.done, "failed": sorted(report.failures)})
        return
    if not report.done:
        if not report.failures:
            render_text("no table exists yet")
        return
    render_table(
        (
            "table",
            "compacted",
            "clustered",
            "files",
            "bytes",
            "expired",
            "cleaned",
            "active commits",
            "seconds",
        ),
        [
            (
                done.table,
                len(done.compacted.instants),
                len(done.clustered.instants),
                done.compacted.files + done.clustered.files,
                done.compacted.bytes + done.clustered.bytes,
                "" if done.expired is None else len(done.expired.partitions),
                "" if done.cleaned is None else done.cleaned.files,
                "" if done.archived is None else done.archived.after,
                f"{done.seconds:.1f}",
            )
            for done in report.done
        ],
    )
    for done in report.done:
        for instant in done.given_up:
            render_text(f"{done.table}: clustering {instant} abandoned: a writer changed its files")
        for index in done.indexed:
            render_text(f"{done.table}: index {index.name} built in {index.seconds:.1f} s")
