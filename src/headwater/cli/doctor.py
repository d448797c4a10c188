"""`headwater doctor`: problems of this machine, the source and the lake, with their fixes."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text

if TYPE_CHECKING:
    from headwater.sources.finding import SetupFinding

FAILED = 1
_LABELS = {"ok": "ok", "warning": "warning", "problem": "PROBLEM"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    ctx: typer.Context,
    spark: Annotated[
        bool,
        typer.Option(
            "--spark", help="Also start Spark, then write, read and remove a small table in the lake."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check Java, jars, credentials, bucket, notifications, queue, lake and lock, and suggest fixes.

    Read-only. Exit code 1: there are problems; warnings do not count.
    """
    settings = Invocation.of(ctx).load_settings()
    from headwater.app.doctor import diagnose, is_healthy
    from headwater.config.environment import read_environment

    findings = diagnose(settings, read_environment(), spark)
    if as_json:
        render_json({"ok": is_healthy(findings), "findings": findings})
    else:
        render_findings(findings)
    if not is_healthy(findings):
        raise typer.Exit(FAILED)


def render_findings(findings: "list[SetupFinding]") -> None:
    """Print a line per finding, with its fix below it, and a summary."""
    render_table(
        ("", "check", "finding"),
        [
            (_LABELS[item.status], item.name, item.detail + (f"\n-> {item.fix}" if item.fix else ""))
            for item in findings
        ],
    )
    counts = Counter(item.status for item in findings)
    parts = [
        f"{counts[status]} {status}{'s' if counts[status] > 1 else ''}"
        for status in ("problem", "warning")
        if counts[status]
    ]
    render_text(f"\n{' and '.join(parts)}." if parts else "\nNo problems.")
