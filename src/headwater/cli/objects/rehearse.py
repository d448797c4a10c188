"""`headwater rehearse`: shows which rows an edited configuration changes, and applies it."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.completion import complete_table
from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_text
from headwater.cli.signals import stop_on_signals

if TYPE_CHECKING:
    from headwater.app import App
    from headwater.app.rehearsal import RehearsalReport
    from headwater.app.rehearsal.replacing import NewFile

DIFFERENT = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rehearse")(rehearse)


def rehearse(
    ctx: typer.Context,
    new: Annotated[Path, typer.Option("--with", metavar="FILE", help="The edited configuration.")],
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME",
            autocompletion=complete_table,
            help="Compare this table, changed or not. Repeatable. Default: all whose rows may change.",
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option("--days", min=0.001, help="Read objects with events of the last days. Default: 7."),
    ] = None,
    objects: Annotated[
        int | None,
        typer.Option(
            "--objects", min=1, max=1_000_000, help="Read the newest objects of each table instead."
        ),
    ] = None,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply",
            help="Then replace the file, and re-ingest what it changes. Rejected while a run is active.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run an edited file on a shadow of the lake, and compare its rows with the current file's.

    Both files build their tables from the same objects in a temporary folder of the lake. No table of the
    lake is written, except by --apply. Exit code 3: there are differences, and they were not applied.
    """
    from headwater.app import App
    from headwater.app.command import prepare_app
    from headwater.app.rehearsal import Rehearsal, RehearsalWindow
    from headwater.app.rehearsal.replacing import read_new_file
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    window, invocation = RehearsalWindow(days, objects), Invocation.of(ctx)
    current = invocation.load_settings()
    edited = read_new_file(invocation.config_path, new, invocation.overrides, invocation.lake_name)
    app = App(current)
    rehearsal = Rehearsal(app, edited.settings, window)
    arm_crash_point(read_environment().get(CRASH_POINT_VARIABLE))
    stop = threading.Event()
    # Held from the beginning: what is applied was compared with the tables as they are.
    writing = "rehearse --apply" if apply else ""
    with prepare_app(app, writing=writing), stop_on_signals(stop, current.stop_timeout) as signals:
        report = rehearsal.run(tables or [], stop, on_session=signals.arm)
        if not as_json:
            _render(report, f"cp {new} {invocation.config_path}" if not apply else "")
        backup = _apply(app, report, invocation.config_path, edited) if apply else None
    if as_json:
        _render_json(report, backup)
    elif backup is not None:
        render_text(f"applied; the previous file is {backup}")
    if report.has_differences and not apply:
        raise typer.Exit(DIFFERENT)


def _apply(app: "App", report: "RehearsalReport", current: Path, edited: "NewFile") -> Path:
    from headwater.app.rehearsal.applying import apply_file

    return apply_file(app.with_settings(edited.settings), report, current, edited)


def _render(report: "RehearsalReport", replacing: str) -> None:
    """Print the report; with a command that replaces the file, also what applies it."""
    from headwater.app.rehearsal.report import iter_lines, list_commands

    for line in iter_lines(report):
        render_text(line)
    if replacing and report.tables:
        render_text("\nApply it:")
        for command in (replacing, *list_commands(report)):
            render_text(f"  {command}")


def _render_json(report: "RehearsalReport", backup: Path | None) -> None:
    from headwater.app.rehearsal.report import to_document

    render_json({**to_document(report), "applied": backup is not None, "backup": backup})
