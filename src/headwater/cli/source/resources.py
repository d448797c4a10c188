"""`headwater plan`, `up`, `down`: plans, creates and removes the resources between bucket and queue."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.sources import SourceOption
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.sources.finding import SetupFinding
    from headwater.sources.provisioner import AttributeChange, Change, Plan, ResourceAction

FAILED = 1
MAX_VALUE_CHARS = 100
_SIGNS = {"create": "+ create", "update": "~ change", "delete": "- remove", "none": "  good"}
_WORDS: "dict[Change, str]" = {"create": "to create", "update": "to change", "delete": "to remove"}

AdoptFlag = Annotated[
    bool,
    typer.Option(
        "--adopt",
        help="Adopt existing resources that have the expected names but not headwater's tag or label.",
    ),
]
PruneFlag = Annotated[
    bool,
    typer.Option(
        "--prune", help="Also remove headwater's resources that are no longer in the configuration."
    ),
]
DryRunFlag = Annotated[bool, typer.Option("--dry-run", help="Print the plan without changing anything.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("plan")(plan)
    app.command("up")(up)
    app.command("down")(down)


def plan(
    ctx: typer.Context,
    adopt: AdoptFlag = False,
    prune: PruneFlag = False,
    policies: Annotated[
        bool,
        typer.Option(
            "--policies", help="Print the IAM policies or permissions of the roles set-up, ingest and serve."
        ),
    ] = False,
    source: SourceOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Show what `up` would create, change and remove, attribute by attribute.

    Exit code 1: `up` would fail because of a problem.
    """
    settings = Invocation.of(ctx).load_settings()
    from headwater.app.provisioning import build_policies, plan_resources
    from headwater.sources.provisioner import ProvisioningScope

    if policies:
        render_json(build_policies(settings, source))
        return
    _print_plan(plan_resources(settings, ProvisioningScope(adopt, prune), source), as_json=as_json)


def up(  # noqa: PLR0913 - one parameter per option
    ctx: typer.Context,
    adopt: AdoptFlag = False,
    prune: PruneFlag = False,
    *,
    dry_run: DryRunFlag = False,
    probe: Annotated[
        bool,
        typer.Option("--probe/--no-probe", help="Verify with a test object that its notification arrives."),
    ] = True,
    probe_seconds: Annotated[
        float, typer.Option("--probe-seconds", min=1, max=900, help="Timeout of the probe.")
    ] = 60,
    source: SourceOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Create or update queue or subscription, their policies and the bucket's notification.

    Notification rules of other owners stay unchanged. Exit code 1: a conflict, or the probe's notification
    did not arrive.
    """
    settings = Invocation.of(ctx).load_settings()
    from headwater.app.provisioning import plan_resources, set_up
    from headwater.sources.provisioner import ProvisioningScope

    scope = ProvisioningScope(adopt, prune)
    if dry_run:
        _print_plan(plan_resources(settings, scope, source), as_json=as_json)
        return
    on_action = (lambda _: None) if as_json else _render_done
    seconds = probe_seconds if probe else None
    report = set_up(settings, scope, source, probe_seconds=seconds, on_action=on_action)
    if as_json:
        body = {"actions": report.plan.actions, "applied": report.applied, "probe": report.probe}
        render_json({"ok": report.is_good, **body, "warnings": report.plan.warnings})
    else:
        if not report.applied:
            render_text("Nothing to do: all resources are up to date.")
        _render_findings([*report.plan.warnings, *report.probe])
        _render_orphans(report.plan.orphans, pruned=prune)
    if not report.is_good:
        raise typer.Exit(FAILED)


def down(
    ctx: typer.Context,
    prune: PruneFlag = False,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", help="Confirm the removal, including the messages in the queue.")
    ] = False,
    dry_run: DryRunFlag = False,
    source: SourceOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Remove the resources with headwater's tag or label, and its notification rules.

    The lake and its tables stay. Requires --yes.
    """
    settings = Invocation.of(ctx).load_settings()
    from headwater.app.provisioning import plan_removal, take_down
    from headwater.sources.provisioner import ProvisioningScope

    scope = ProvisioningScope(prune=prune)
    found = plan_removal(settings, scope, source)
    is_empty = not found.has_changes and not (prune and found.orphans)
    if dry_run or is_empty:
        _print_plan(found, as_json=as_json)
        return
    if not yes:
        doomed = ", ".join(
            f"{item.kind} {item.resource}" for item in found.actions if item.change == "delete"
        )
        hint = "add --yes, or review the full plan with --dry-run"
        raise UsageError(f"not confirmed: this would remove {doomed}", hint=hint)
    applied = take_down(settings, scope, source, on_action=(lambda _: None) if as_json else _render_done)
    if as_json:
        render_json({"ok": True, "actions": found.actions, "applied": applied, "warnings": found.warnings})
    else:
        _render_orphans(found.orphans, pruned=prune)


def _print_plan(found: "Plan", *, as_json: bool) -> None:
    if as_json:
        render_json(
            {
                "ok": not found.problems,
                "actions": found.actions,
                "problems": found.problems,
                "warnings": found.warnings,
            }
        )
    else:
        _render_plan(found)
    if found.problems:
        raise typer.Exit(FAILED)


def _render_plan(found: "Plan") -> None:
    if found.actions:
        rows = [
            (
                "! orphan" if item.orphan else _SIGNS[item.change],
                item.kind.replace("_", " "),
                item.resource,
                _describe(item),
            )
            for item in found.actions
        ]
        render_table(("", "kind", "resource", "what"), rows)
    _render_findings([*found.problems, *found.warnings])
    counts = Counter(item.change for item in found.actions if not item.orphan)
    parts = [f"{counts[change]} {word}" for change, word in _WORDS.items() if counts[change]]
    if found.problems:
        render_text("\nFix the problems first; `up` changes nothing until then.")
    else:
        render_text(f"\n{', '.join(parts)}." if parts else "Nothing to do.")


def _describe(action: "ResourceAction") -> str:
    lines = [action.note] if action.note else []
    return "\n".join([*lines, *(_describe_change(change) for change in action.attributes)])


def _describe_change(change: "AttributeChange") -> str:
    if not change.before:
        return f"{change.name}: {_cut(change.after)}"
    return f"{change.name}: {_cut(change.before)} -> {_cut(change.after) or 'removed'}"


def _cut(value: str) -> str:
    return value if len(value) <= MAX_VALUE_CHARS else f"{value[: MAX_VALUE_CHARS - 3]}..."


def _render_done(action: "ResourceAction") -> None:
    done = {"create": "created", "update": "changed", "delete": "removed"}.get(action.change, action.change)
    render_text(f"{done} {action.kind.replace('_', ' ')} {action.resource}")


def _render_findings(findings: "Sequence[SetupFinding]") -> None:
    for finding in findings:
        word = {"problem": "PROBLEM: ", "warning": "warning: "}.get(finding.status, "")
        render_text(f"{word}{finding.detail}" + (f"\n  -> {finding.fix}" if finding.fix else ""))


def _render_orphans(orphans: "Sequence[ResourceAction]", *, pruned: bool) -> None:
    if orphans and not pruned:
        names = ", ".join(f"{item.kind.replace('_', ' ')} {item.resource}" for item in orphans)
        render_text(f"Orphans kept: {names}\n  -> remove them with --prune")
