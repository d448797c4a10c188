"""`plan`, `up` and `down`: what they do, in which order, and what they report."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from headwater.app.scope import choose_sources, label_source
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.errors import UsageError
from headwater.sources.finding import SetupFinding
from headwater.sources.provisioner import (
    Plan,
    Provisioner,
    ProvisioningScope,
    ResourceAction,
    ensure_applicable,
)
from headwater.sources.registry import build_provisioner, has_provisioner

PROBE_SECONDS = 60.0
NO_SCOPE = ProvisioningScope()


@dataclass(frozen=True, slots=True)
class UpReport:
    """The result of `up`: the applied actions, their plan, and what the probe observed."""

    plan: Plan
    applied: tuple[ResourceAction, ...]
    probe: tuple[SetupFinding, ...]

    @property
    def is_good(self) -> bool:
        """True if no problem is known."""
        return all(finding.status != "problem" for finding in self.probe)


def plan_resources(settings: Settings, scope: ProvisioningScope = NO_SCOPE, only: str = "") -> Plan:
    """Return what `up` would do for all sources, or for the source `only`.

    Raises `SourceError` when a source cannot be asked, `UsageError` for an unknown name.
    """
    with _open_provisioners(settings, scope, only) as provisioners:
        plans = [_label(settings, source, one.plan()) for source, one in provisioners]
    return _join([*plans, _list_skipped(settings, only)])


def plan_removal(settings: Settings, scope: ProvisioningScope = NO_SCOPE, only: str = "") -> Plan:
    """Return what `down` would do. Raises as `plan_resources` does."""
    _refuse_shared_queue(settings, only)
    with _open_provisioners(settings, scope, only) as provisioners:
        plans = [_label(settings, source, one.plan_removal()) for source, one in provisioners]
    return _join([*plans, _list_skipped(settings, only)])


def set_up(
    settings: Settings,
    scope: ProvisioningScope = NO_SCOPE,
    only: str = "",
    *,
    probe_seconds: float | None = PROBE_SECONDS,
    on_action: Callable[[ResourceAction], None] = lambda _: None,
) -> UpReport:
    """Plan, apply, and verify with a test object that notifications reach the queue.

    `probe_seconds` limits the test of a source; None skips it. Calls `on_action` for each completed action.
    Raises `ResourceConflictError` when the plan of any source has problems, before anything is changed.
    """
    applied: list[ResourceAction] = []

    def note(action: ResourceAction) -> None:
        applied.append(action)
        on_action(action)

    with _open_provisioners(settings, scope, only) as provisioners:
        plans = [one.plan() for _, one in provisioners]
        labeled = [
            _label(settings, source, plan) for (source, _), plan in zip(provisioners, plans, strict=True)
        ]
        joined = _join([*labeled, _list_skipped(settings, only)])
        ensure_applicable(joined)
        for (_, provisioner), plan in zip(provisioners, plans, strict=True):
            provisioner.apply(plan, note)
        probe: list[SetupFinding] = []
        for source, provisioner in provisioners if probe_seconds is not None else ():
            found = provisioner.probe(probe_seconds or 0)
            probe += _label(settings, source, Plan(warnings=tuple(found))).warnings
    return UpReport(joined, tuple(applied), tuple(probe))


def take_down(
    settings: Settings,
    scope: ProvisioningScope = NO_SCOPE,
    only: str = "",
    *,
    on_action: Callable[[ResourceAction], None] = lambda _: None,
) -> tuple[ResourceAction, ...]:
    """Remove resources with our tag, and our notification rules; return the actions done."""
    applied: list[ResourceAction] = []

    def note(action: ResourceAction) -> None:
        applied.append(action)
        on_action(action)

    with _open_provisioners(settings, scope, only) as provisioners:
        for _, provisioner in provisioners:
            provisioner.remove(provisioner.plan_removal(), note)
    return tuple(applied)


def _refuse_shared_queue(settings: Settings, only: str) -> None:
    """Raise `UsageError` if `down` of one source would remove what others need.

    A shared queue in AWS is never removed.
    """
    for source in choose_sources(settings, only) if only else ():
        others = tuple(one for one in settings.sources if one is not source)
        if source.type != "s3" and ProvisioningScope(siblings=others).shares_queue(source):
            raise UsageError(
                f"source {only} shares its queue with another source, which would lose it",
                hint="omit --source to remove the resources of all sources",
            )


Opened = list[tuple[SourceConfig, Provisioner]]


@contextmanager
def _open_provisioners(settings: Settings, scope: ProvisioningScope, only: str) -> Iterator[Opened]:
    """Open the provisioners of the sources. Those with the same objects have one, for the first of them."""
    chosen = choose_sources(settings, only)
    if len(chosen) > 1:
        # Alone, such a source is an error that names the way out; `_list_skipped` warns of it here.
        chosen = tuple(source for source in chosen if has_provisioner(source))
    with ExitStack() as stack:
        opened = []
        for source in chosen:
            siblings = tuple(one for one in settings.sources if one is not source)
            provisioner = build_provisioner(source, settings.lake, replace(scope, siblings=siblings))
            stack.callback(provisioner.close)
            opened.append((source, provisioner))
        yield opened


def _list_skipped(settings: Settings, only: str) -> Plan:
    """Return a plan with a warning for each source that `_open_provisioners` leaves out."""
    chosen = choose_sources(settings, only)
    skipped = [one for one in chosen if len(chosen) > 1 and not has_provisioner(one)]
    return Plan(
        warnings=tuple(
            SetupFinding(
                "source.resources",
                "warning",
                f"source {one.name}: headwater creates no resources for sources of type {one.type!r}",
                "create them with the vendor's tools, and check them with `headwater doctor`",
            )
            for one in skipped
        )
    )


def _label(settings: Settings, source: SourceConfig, plan: Plan) -> Plan:
    """Return the plan with the source's name in its findings, if there are several sources."""
    label = label_source(settings, source)
    if not label:
        return plan

    def name(findings: Sequence[SetupFinding]) -> tuple[SetupFinding, ...]:
        return tuple(replace(found, detail=f"source {label}: {found.detail}") for found in findings)

    return replace(plan, problems=name(plan.problems), warnings=name(plan.warnings))


def _join(plans: Sequence[Plan]) -> Plan:
    """Return the plans of several sources as one; each of them may list the same orphan."""
    actions = dict.fromkeys(action for plan in plans for action in plan.actions)
    return Plan(
        tuple(actions),
        tuple(found for plan in plans for found in plan.problems),
        tuple(found for plan in plans for found in plan.warnings),
    )
