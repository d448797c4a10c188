"""`plan`, `up` and `down`: what they do, in which order, and what they report."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from headwater.config.settings import Settings
from headwater.sources.finding import SetupFinding
from headwater.sources.provisioner import Plan, ProvisioningScope, ResourceAction
from headwater.sources.registry import build_provisioner

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


def plan_resources(settings: Settings, scope: ProvisioningScope = NO_SCOPE) -> Plan:
    """Return what `up` would do. Raises `SourceError` when the source cannot be asked."""
    with closing(build_provisioner(settings.source, settings.lake, scope)) as provisioner:
        return provisioner.plan()


def plan_removal(settings: Settings, scope: ProvisioningScope = NO_SCOPE) -> Plan:
    """Return what `down` would do. Raises `SourceError` when the source cannot be asked."""
    with closing(build_provisioner(settings.source, settings.lake, scope)) as provisioner:
        return provisioner.plan_removal()


def set_up(
    settings: Settings,
    scope: ProvisioningScope = NO_SCOPE,
    *,
    probe_seconds: float | None = PROBE_SECONDS,
    on_action: Callable[[ResourceAction], None] = lambda _: None,
) -> UpReport:
    """Plan, apply, and verify with a test object that notifications reach the queue.

    `probe_seconds` limits the test; None skips it. Calls `on_action` for each completed action. Raises
    `ResourceConflictError` when the plan has problems, before anything is changed.
    """
    applied: list[ResourceAction] = []

    def note(action: ResourceAction) -> None:
        applied.append(action)
        on_action(action)

    with closing(build_provisioner(settings.source, settings.lake, scope)) as provisioner:
        plan = provisioner.plan()
        provisioner.apply(plan, note)
        probe = provisioner.probe(probe_seconds) if probe_seconds is not None else []
    return UpReport(plan, tuple(applied), tuple(probe))


def take_down(
    settings: Settings,
    scope: ProvisioningScope = NO_SCOPE,
    *,
    on_action: Callable[[ResourceAction], None] = lambda _: None,
) -> tuple[ResourceAction, ...]:
    """Remove resources with our tag, and our notification rules; return the actions done."""
    applied: list[ResourceAction] = []

    def note(action: ResourceAction) -> None:
        applied.append(action)
        on_action(action)

    with closing(build_provisioner(settings.source, settings.lake, scope)) as provisioner:
        provisioner.remove(provisioner.plan_removal(), note)
    return tuple(applied)
