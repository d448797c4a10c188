"""`headwater prepare`: stores files that halve Spark's start-up time alongside the installation."""

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_text

MB = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prepare")(prepare)


def prepare(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Fetch the jars and keep what Spark loads, so that every later start takes half as long.

    Needs no configuration; for new machines and images. Takes a minute the first time, nothing after it.
    """
    from headwater.app.machine.preparation import prepare as prepare_machine
    from headwater.config.environment import read_environment
    from headwater.observability.logging import configure_logging

    # The log is of a sample pipeline, not the user's.
    configure_logging(Invocation.of(ctx).verbose, json=False, quiet=True)
    done = prepare_machine(read_environment(), (lambda _: None) if as_json else render_text)
    if as_json:
        render_json(done)
        return
    render_text(f"{len(done.jars)} jars are in {done.folder} ({done.bytes / MB:.0f} MB in all).")
    if done.reason:
        render_text(f"Spark starts from them. Nothing else is kept: {done.reason}.")
    else:
        render_text("Spark starts from them, and from an archive of what it loads.")
