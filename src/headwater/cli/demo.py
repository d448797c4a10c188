"""`headwater demo`: the whole pipeline on this machine, no cloud, no Docker."""

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.demo.clouds.names import CloudName

if TYPE_CHECKING:
    from rich.console import Console

FAILED = 1
INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Folder in which each demo creates a new one.")
    ] = Path("demo"),
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, max=3600, help="Duration of the sample shop's writes.")
    ] = 60,
    cloud: Annotated[
        CloudName, typer.Option(help="Cloud that the emulators imitate, or Kafka.")
    ] = CloudName.s3,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the emulator running after the report, until Ctrl-C (not Kafka)."),
    ] = False,
) -> None:
    """Run the whole pipeline on this machine: emulators of a cloud, a sample shop, and headwater.

    Your configuration of the cloud's clients is not read. At the end, every row is compared with the uploaded
    objects. Exit code 1: rows are missing.
    """
    from headwater.config.extras.packages import ensure_extra

    if cloud is not CloudName.kafka:
        ensure_extra("search", "`headwater demo`")
    if cloud is not CloudName.s3:
        ensure_extra(cloud.value, f"`headwater demo --cloud {cloud.value}`")
    from headwater.cli.signals import stop_on_signals
    from headwater.demo.demo import DemoOptions, run_demo

    stop = threading.Event()
    options = DemoOptions(folder, seconds, keep, _find_command(), cloud)
    with stop_on_signals(stop), open_console() as console:
        report = run_demo(options, console, stop)
    if report is None:
        raise typer.Exit(INTERRUPTED)
    if report.problems:
        raise typer.Exit(FAILED)


@contextmanager
def open_console() -> "Iterator[Console]":
    """Yield a console on a copy of stdout: while a JVM starts, the original is redirected away from the
    terminal."""
    from rich.console import Console

    sys.stdout.flush()
    with os.fdopen(
        os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding, errors="backslashreplace"
    ) as file:
        yield Console(file=file, highlight=False)


def _find_command() -> str:
    """Return the command line of headwater on this machine."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    return called.name if found and Path(found).resolve() == called.resolve() else str(called)
