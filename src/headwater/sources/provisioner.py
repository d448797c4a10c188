"""The provisioner seam: what `plan`, `up` and `down` require of a cloud."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from headwater.errors import ResourceConflictError
from headwater.sources.finding import SetupFinding
from headwater.sources.notifications.outcome import MessageParser

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig

ResourceKind = Literal[
    "dead_letter_queue",
    "dead_letter_subscription",
    "dead_letter_topic",
    "notification",
    "queue",
    "rule",
    "subscription",
    "topic",
]
Change = Literal["create", "update", "delete", "none"]
Role = Literal["set-up", "ingest", "serve"]
_TAG_WORDS = ("tag ", "label ")


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """A change of one attribute (`tag NAME` or `label NAME` for a tag); empty text means absent."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ResourceAction:
    """What `up` or `down` does to one resource. `address` is its ARN or full name, now or once created.

    An orphan is ours but no longer in any configuration; it is removed only on request.
    """

    kind: ResourceKind
    resource: str
    change: Change
    attributes: tuple[AttributeChange, ...] = ()
    address: str = ""
    note: str = ""
    orphan: bool = False

    def list_written(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the attributes and tags to write."""
        written = {item.name: item.after for item in self.attributes}
        tags = {name: value for name, value in written.items() if name.startswith(_TAG_WORDS)}
        attributes = {name: value for name, value in written.items() if name not in tags}
        return attributes, {name.partition(" ")[2]: value for name, value in tags.items()}


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions in the order of their application; a plan with a problem applies none of them."""

    actions: tuple[ResourceAction, ...] = ()
    problems: tuple[SetupFinding, ...] = ()
    warnings: tuple[SetupFinding, ...] = ()

    @property
    def has_changes(self) -> bool:
        """True if applying the plan would change anything, except orphans."""
        return bool(self.changes)

    @property
    def changes(self) -> tuple[ResourceAction, ...]:
        """Return the actions that change something, without orphans."""
        return tuple(action for action in self.actions if action.change != "none" and not action.orphan)

    @property
    def orphans(self) -> tuple[ResourceAction, ...]:
        """Return resources of ours that are no longer configured."""
        return tuple(action for action in self.actions if action.orphan)


def ensure_applicable(plan: Plan) -> None:
    """Raise `ResourceConflictError` with all problems of a plan, if it has any."""
    if plan.problems:
        detail = "; ".join(problem.detail for problem in plan.problems)
        hint = "; ".join(dict.fromkeys(problem.fix for problem in plan.problems))
        raise ResourceConflictError(detail, hint=hint)


@dataclass(frozen=True, slots=True)
class ProvisioningScope:
    """The scope of a provisioner: `adopt` takes ownership of resources, `prune` removes our orphans.

    `siblings` are the other sources of the lake.
    """

    adopt: bool = False
    prune: bool = False
    siblings: tuple["SourceConfig", ...] = ()

    def shares_queue(self, source: "SourceConfig") -> bool:
        """True if another source of the lake has the same queue."""
        queue = (source.type, source.shared_queue)
        return bool(source.shared_queue) and any(queue == (s.type, s.shared_queue) for s in self.siblings)


OnAction = Callable[[ResourceAction], None]


class Provisioner(Protocol):
    """Creates and removes the resources between a source and the queue.

    `plan...` only reads. Applying is idempotent: planning and applying again completes an interrupted one.
    All methods raise `SourceError` (`CredentialsError` with the missing right in its hint).
    """

    def plan(self) -> Plan:
        """Plan the actions that reach the desired state."""
        ...

    def apply(self, plan: Plan, on_action: OnAction) -> None:
        """Apply the plan in order; call `on_action` after each action.

        Raises `ResourceConflictError` if the plan has problems, or if another process keeps changing the same
        resources.
        """
        ...

    def plan_removal(self) -> Plan:
        """Plan the removal of our existing resources."""
        ...

    def remove(self, plan: Plan, on_action: OnAction) -> None:
        """Apply the plan in order."""
        ...

    def probe(self, timeout_seconds: float) -> list[SetupFinding]:
        """Put an object, wait for its notification, delete it. Failure is a finding."""
        ...

    def close(self) -> None:
        """Close connections. Idempotent."""
        ...


BuildProvisioner = Callable[["SourceConfig", str, ProvisioningScope, MessageParser], Provisioner]
