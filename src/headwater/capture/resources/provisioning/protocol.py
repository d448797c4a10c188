"""The provisioner seam: what `plan`, `up` and `down` require of a cloud."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headwater.capture.resources.finding import SetupFinding
from headwater.capture.resources.planning.actions import Plan, ResourceAction

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig


@dataclass(frozen=True, slots=True)
class ProvisioningScope:
    """The scope of a provisioner: `adopt` takes ownership of resources, `prune` removes our orphans."""

    adopt: bool = False
    prune: bool = False


OnAction = Callable[[ResourceAction], None]


class Provisioner(Protocol):
    """Creates and removes the resources between a source and the queue.

    `plan...` only reads. Applying is idempotent: planning and applying again completes an interrupted one.
    All methods raise `SourceError` (`CredentialsError` with the missing right in its hint).
    """

    def plan(self) -> Plan:
        """Plans the actions that reach the desired state."""
        ...

    def apply(self, plan: Plan, on_action: OnAction) -> None:
        """Applies the plan in order; calls `on_action` after each action.

        Raises `ResourceConflictError` if the plan has problems, or if another process keeps changing the same
        resources.
        """
        ...

    def plan_removal(self) -> Plan:
        """Plans the removal of our existing resources."""
        ...

    def remove(self, plan: Plan, on_action: OnAction) -> None:
        """Applies the plan in order."""
        ...

    def probe(self, timeout_seconds: float) -> list[SetupFinding]:
        """Puts an object, waits for its notification, deletes it. Failure is a finding."""
        ...

    def close(self) -> None:
        """Closes connections. Idempotent."""
        ...


BuildProvisioner = Callable[["SourceConfig", str, ProvisioningScope], Provisioner]
