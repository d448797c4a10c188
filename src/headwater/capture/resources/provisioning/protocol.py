"""The provisioner seam: what `plan`, `up` and `down` need of a cloud."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headwater.capture.resources.finding import SetupFinding
from headwater.capture.resources.planning.actions import Plan, ResourceAction

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig


@dataclass(frozen=True, slots=True)
class ProvisioningScope:
    """How far a provisioner may go: `adopt` takes over what is not ours, `prune` removes our orphans."""

    adopt: bool = False
    prune: bool = False


OnAction = Callable[[ResourceAction], None]


class Provisioner(Protocol):
    """Makes and removes what lies between a source and the queue.

    `plan...` reads only. Applying is idempotent: what was cut short is finished by planning and applying
    again. All methods raise `SourceError` (`CredentialsError` with the missing right in its hint).
    """

    def plan(self) -> Plan:
        """What has to be done so that everything is there as it should be."""
        ...

    def apply(self, plan: Plan, on_action: OnAction) -> None:
        """Do it, in the plan's order; `on_action` is told of each action done.

        Raises `ResourceConflictError` when the plan has problems, or when somebody else changes the
        same things again and again meanwhile.
        """
        ...

    def plan_removal(self) -> Plan:
        """What of ours is there to be removed."""
        ...

    def remove(self, plan: Plan, on_action: OnAction) -> None:
        """Do it, in the plan's order."""
        ...

    def probe(self, timeout_seconds: float) -> list[SetupFinding]:
        """Put an object, see that the queue hears of it, remove it again. Failing is a finding."""
        ...

    def close(self) -> None:
        """Free connections. Idempotent."""
        ...


BuildProvisioner = Callable[["SourceConfig", str, ProvisioningScope], Provisioner]
