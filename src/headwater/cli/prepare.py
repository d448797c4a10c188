"""`headwater prepare`: stores files that halve Spark's start-up time alongside the installation."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_text
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app.machine.preparation import Cloud

MB = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prepare")(prepare)


def prepare(
    ctx: typer.Context,
    packages: Annotated[
        list[str] | None,
        typer.Option(
            "--package",
            metavar="GROUP:ARTIFACT:VERSION",
            help="Also store this package, which spark.packages names. Repeatable.",
        ),
    ] = None,
    needs_gcs: Annotated[
        bool,
        typer.Option(
            "--gcs",
            help="Also store Google's connector to Cloud Storage: for a lake at gs://, "
            "and for large objects in splits.",
        ),
    ] = False,
    needs_azure: Annotated[
        bool,
        typer.Option(
            "--azure",
            help="Also store Hadoop's driver for Azure: for a lake at abfss://, "
            "and for large objects in splits.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Download the jars and archive Spark's classes; later starts take half as long.

    Needs no configuration; intended for new machines and container images. The first call takes a minute,
    later calls return at once.
    """
    from headwater.app.machine.preparation import prepare as prepare_machine
    from headwater.config.environment import read_environment
    from headwater.observability.logging import configure_logging

    # The log is of a sample pipeline, not the user's.
    configure_logging(Invocation.of(ctx).verbose, json=False, quiet=True)
    for package in packages or ():
        if package.count(":") != 2 or not all(package.split(":")):
            raise UsageError(
                f"--package {package} is not GROUP:ARTIFACT:VERSION",
                hint="write, for example, --package org.apache.hudi:hudi-aws-bundle:1.2.0",
            )
    say = (lambda _: None) if as_json else render_text
    wanted: dict[Cloud, bool] = {"gcs": needs_gcs, "azure": needs_azure}
    clouds = [cloud for cloud, is_wanted in wanted.items() if is_wanted]
    done = prepare_machine(read_environment(), say, packages or (), clouds=clouds)
    if as_json:
        render_json(done)
        return
    render_text(f"{len(done.jars)} jars stored in {done.folder} ({done.bytes / MB:.0f} MB in total).")
    if done.reason:
        render_text(f"Spark loads them from there. No class archive: {done.reason}.")
    else:
        render_text("Spark loads them from there, and its classes from an archive.")
