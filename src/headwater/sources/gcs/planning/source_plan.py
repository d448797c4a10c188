"""The complete plan of one source: topics, subscriptions, then the bucket's notification. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from headwater.config.source import GcsSourceConfig
from headwater.sources.finding import SetupFinding
from headwater.sources.gcs.judging import DELETED_TOPIC, NotificationRule, judge_subscription
from headwater.sources.gcs.planning.desired import Agents, build_desired
from headwater.sources.gcs.planning.notification_merge import (
    Merge,
    find_orphans,
    merge_notification,
    withdraw_notification,
)
from headwater.sources.gcs.resource_names import Addresses, last_part
from headwater.sources.planning.actions import (
    ORPHAN_NOTE,
    Desired,
    Observed,
    plan_orphans,
    plan_removal,
    plan_resource,
)
from headwater.sources.planning.ownership import Owner
from headwater.sources.provisioner import Change, Plan, ProvisioningScope, ResourceAction, ResourceKind

MergeInto = Callable[[Sequence[NotificationRule]], Merge]

# Attributes of a subscription that Pub/Sub does not change.
_FIXED = ("topic", "filter")


@dataclass(frozen=True, slots=True)
class SourceState:
    """The observed state. `labeled` lists the project's resources with our label: kind, name, address."""

    addresses: Addresses
    rules: tuple[NotificationRule, ...] = ()
    observed: tuple[Observed, ...] = ()
    labeled: tuple[tuple[ResourceKind, str, str], ...] = ()
    warnings: tuple[SetupFinding, ...] = ()

    def find(self, kind: ResourceKind) -> Observed | None:
        """Return the observed resource of a kind."""
        return next((item for item in self.observed if item.kind == kind), None)


def find_given(source: GcsSourceConfig, owner: Owner, state: SourceState, *, adopt: bool) -> Observed | None:
    """Return the user's own subscription, used as it is; None if we create or maintain it."""
    found = state.find("subscription")
    if source.subscription is None or found is None or adopt:
        return None
    return None if owner.judge(found.tags) == "ours" else found


def plan_with_given(
    source: GcsSourceConfig, owner: Owner, state: SourceState, given: Observed, *, prune: bool
) -> Plan:
    """Plan `up` for a subscription of the user's: only the notification is created."""
    topic = given.attributes["topic"]
    action = ResourceAction(
        "subscription", given.name, "none", address=given.address, note="yours: left unchanged"
    )
    findings = judge_subscription(source, given)
    merge = merge_notification(state.rules, topic, source.prefix, owner, prune=prune)
    return Plan(
        (action, _describe_merge(source.bucket, merge), *_list_orphans(source, owner, state, [], prune)),
        tuple(item for item in (*findings, *merge.problems) if item.status == "problem"),
        (*state.warnings, *(item for item in findings if item.status == "warning")),
    )


def plan_source(
    source: GcsSourceConfig, owner: Owner, state: SourceState, agents: Agents, scope: ProvisioningScope
) -> Plan:
    """Plan `up`. A plan with a problem must not be applied, not even in part."""
    desired = build_desired(source, owner, state.addresses, agents)
    actions: list[ResourceAction] = []
    problems: list[SetupFinding] = []
    for item in desired:
        found = state.find(item.kind)
        outcome = plan_resource(item, found, owner, adopt=scope.adopt)
        if isinstance(outcome, SetupFinding):
            problems.append(outcome)
            continue
        actions.append(outcome)
        problems += _judge_fixed(item, outcome) if found else ()
    merge = merge_notification(state.rules, state.addresses.topic, source.prefix, owner, prune=scope.prune)
    actions.append(_describe_merge(source.bucket, merge))
    actions += _list_orphans(source, owner, state, state.addresses.by_kind.values(), scope.prune)
    return Plan(tuple(actions), (*problems, *merge.problems), state.warnings)


def plan_source_removal(source: GcsSourceConfig, owner: Owner, state: SourceState, *, prune: bool) -> Plan:
    """Plan `down`: senders before receivers, except that a topic goes after its subscription.

    An interrupted removal then leaves no subscription without its topic, which `up` could not repair.
    """
    merge = withdraw_notification(state.rules, owner, prune=prune)
    actions = [_describe_merge(source.bucket, merge)]
    actions += [
        plan_removal(state.find(kind), kind, last_part(address), owner)
        for kind, address in reversed(state.addresses.by_kind.items())
    ]
    actions += _list_orphans(source, owner, state, state.addresses.by_kind.values(), prune)
    return Plan(tuple(actions), (), state.warnings)


def merge_for(source: GcsSourceConfig, owner: Owner, topic: str, *, prune: bool) -> MergeInto:
    """Return the merge into the configurations that exist at the time of writing."""
    return lambda present: merge_notification(present, topic, source.prefix, owner, prune=prune)


def withdraw_for(owner: Owner, *, prune: bool) -> MergeInto:
    """Return the reverse of `merge_for`."""
    return lambda present: withdraw_notification(present, owner, prune=prune)


def _judge_fixed(desired: Desired, action: ResourceAction) -> Iterator[SetupFinding]:
    for change in action.attributes:
        if change.name not in _FIXED:
            continue
        has = "none" if change.before in ("", DELETED_TOPIC) else repr(change.before)
        way_out = (
            f"set source.resources.topic to {last_part(change.before)}, or "
            if change.name == "topic" and has != "none"
            else ""
        )
        yield SetupFinding(
            f"source.resources.{desired.kind}",
            "problem",
            f"subscription {desired.name} has {change.name} {has} instead of {change.after or 'none'}, which "
            "cannot be changed",
            f"{way_out}delete the subscription with its messages (`gcloud pubsub subscriptions delete "
            f"{desired.address}`), then run `headwater up` again; the next reconcile finds objects whose "
            "notifications were lost",
        )


def _describe_merge(bucket: str, merge: Merge) -> ResourceAction:
    changes = merge.changes
    if not changes:
        return ResourceAction("notification", bucket, "none", note=merge.note)
    change: Change = "delete" if merge.create is None else "update" if merge.delete else "create"
    return ResourceAction("notification", bucket, change, changes, note=merge.note)


def _list_orphans(
    source: GcsSourceConfig, owner: Owner, state: SourceState, wanted: Iterable[str], prune: bool
) -> list[ResourceAction]:
    rules = [
        ResourceAction("notification", f"{source.bucket}: {rule.id}", "delete", note=ORPHAN_NOTE, orphan=True)
        for rule in find_orphans(state.rules, owner)
        if not prune
    ]
    return [*rules, *plan_orphans(state.labeled, wanted)]
