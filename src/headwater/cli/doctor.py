"""`headwater doctor`: problems of this machine, the source and the lake, with their fixes."""

import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app.repairs import Repaired
    from headwater.config.settings import Settings
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
    fix: Annotated[
        bool, typer.Option("--fix", help="Create missing folders, download jars, and check again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix: do not ask for confirmation.")] = False,
    *,
    as_json: JsonFlag = False,
) -> None:
    """Check Java, jars, credentials, bucket, notifications, queue, lake and lock, and suggest fixes.

    Read-only without --fix, which changes only this machine: no data, and no resource of a cloud. Exit code
    1: there are problems; warnings do not count.
    """
    if yes and not fix:
        raise UsageError("--yes applies only to --fix", hint="add --fix, or omit --yes")
    settings = Invocation.of(ctx).load_settings()
    from headwater.app.doctor import diagnose, is_healthy
    from headwater.config.environment import read_environment

    fixed = _fix(settings, yes=yes, as_json=as_json) if fix else []
    findings = diagnose(settings, read_environment(), spark)
    if as_json:
        render_json({"ok": is_healthy(findings), "findings": findings, **({"fixed": fixed} if fix else {})})
    else:
        render_findings(findings)
    if not is_healthy(findings) or any(one.error for one in fixed):
        raise typer.Exit(FAILED)


def _fix(settings: "Settings", *, yes: bool, as_json: bool) -> "list[Repaired]":
    """Show the repairs, ask for confirmation, and apply them."""
    from headwater.app.repairs import apply_repairs, plan_repairs
    from headwater.config.environment import read_environment
    from headwater.observability.logging import configure_logging

    say = (lambda _: None) if as_json else render_text
    repairs = plan_repairs(settings, read_environment())
    if not repairs:
        say("Nothing to fix on this machine.\n")
        return []
    actions = [repair.action for repair in repairs]
    if not yes:
        if as_json or not sys.stdin.isatty():
            hint = "add --yes; `headwater doctor` without --fix changes nothing"
            raise UsageError(f"not confirmed: this would {'; '.join(actions)}", hint=hint)
        say("This would:\n" + "\n".join(f"  - {action}" for action in actions))
        if not typer.confirm("Continue?"):
            say("Nothing was changed.\n")
            return []
    # The log is of a sample pipeline, not the user's.
    configure_logging(verbose=False, json=False, quiet=True)
    fixed = apply_repairs(repairs, lambda action: say(f"- {action}"))
    for one in fixed:
        if one.error:
            say(f"FAILED: {one.action}: {one.error}")
    say("")
    return fixed


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
