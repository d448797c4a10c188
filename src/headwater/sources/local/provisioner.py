"""A folder as a source needs no resources; the checks before a run verify that it exists."""

from typing import TYPE_CHECKING

from headwater.sources.finding import SetupFinding
from headwater.sources.notifications.outcome import MessageParser
from headwater.sources.provisioner import OnAction, Plan, ProvisioningScope

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig


class LocalProvisioner:
    """Has nothing to provision."""

    def plan(self) -> Plan:
        """See `Provisioner.plan`."""
        return Plan()

    def apply(self, plan: Plan, on_action: OnAction) -> None:
        """See `Provisioner.apply`."""

    def plan_removal(self) -> Plan:
        """See `Provisioner.plan_removal`."""
        return Plan()

    def remove(self, plan: Plan, on_action: OnAction) -> None:
        """See `Provisioner.remove`."""

    def probe(self, timeout_seconds: float) -> list[SetupFinding]:
        """See `Provisioner.probe`."""
        del timeout_seconds
        return []

    def close(self) -> None:
        """See `Provisioner.close`."""


def build_local_provisioner(
    _source: "SourceConfig", _lake: str, _scope: ProvisioningScope, _parse: MessageParser
) -> LocalProvisioner:
    """Build the provisioner of a folder."""
    return LocalProvisioner()
