"""The complete plan of one source: all resources in order, the bucket's notification last. Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from headwater.config.source import S3SourceConfig
from headwater.sources.finding import SetupFinding
from headwater.sources.planning.actions import (
    ORPHAN_NOTE,
    Observed,
    plan_orphans,
    plan_removal,
    plan_resource,
)
from headwater.sources.planning.ownership import Owner
from headwater.sources.provisioner import Plan, ResourceAction, ResourceKind
from headwater.sources.s3.judging.bucket import QUEUE_REGION
from headwater.sources.s3.judging.queue_policy import Sender, judge_policy
from headwater.sources.s3.planning.desired import Addresses, Site, build_desired, find_sender
from headwater.sources.s3.planning.notification_merge import (
    Merge,
    WantedRule,
    merge_notification,
    withdraw_notification,
)
from headwater.sources.s3.planning.notification_rules import Configuration

MergeInto = Callable[[Configuration], Merge]


@dataclass(frozen=True, slots=True)
class SourceState:
    """The observed state. `tagged` lists all resources with our tag in the region: kind, name, ARN.

    `bucket_region` is None if the store does not report it or has no regions. `is_queue_shared`: other
    sources of the lake have the same queue, which no single one of them may change.
    """

    site: Site
    addresses: Addresses
    bucket_region: str | None
    notification: Configuration
    observed: tuple[Observed, ...] = ()
    tagged: tuple[tuple[ResourceKind, str, str], ...] = ()
    warnings: tuple[SetupFinding, ...] = ()
    is_queue_shared: bool = False

    def find(self, kind: ResourceKind) -> Observed | None:
        """Return the observed resource of a kind."""
        return next((item for item in self.observed if item.kind == kind), None)


def plan_source(source: S3SourceConfig, owner: Owner, state: SourceState, adopt: bool, prune: bool) -> Plan:
    """Plan `up`. A plan with a problem must not be applied, not even in part."""
    given = _find_given_queue(source, owner, state, adopt)
    desired = build_desired(source, owner, state.site, state.addresses, is_queue_given=given is not None)
    problems = list(_judge_region(source, state))
    warnings = list(state.warnings)
    actions: list[ResourceAction] = []
    if source.queue.url and state.find("queue") is None:
        problems.append(_describe_missing_queue(source.queue.url))
    if given:
        actions.append(
            ResourceAction("queue", given.name, "none", address=given.address, note="yours: left unchanged")
        )
        finding = _judge_given_queue(source, given, state)
        (problems if finding.status == "problem" else warnings).append(finding)
    for item in desired:
        outcome = plan_resource(item, state.find(item.kind), owner, adopt=adopt)
        if isinstance(outcome, ResourceAction):
            actions.append(outcome)
        else:
            problems.append(outcome)
    merge = merge_for(source, owner, state.addresses, prune)(state.notification)
    problems += merge.problems
    actions.append(_describe_merge(source.bucket, merge, "update"))
    wanted = [*(item.address for item in desired), *([given.address] if given else [])]
    actions += _list_orphans(source.bucket, state, merge, wanted, prune)
    return Plan(tuple(actions), tuple(problems), tuple(item for item in warnings if item.status != "ok"))


def plan_source_removal(source: S3SourceConfig, owner: Owner, state: SourceState, prune: bool) -> Plan:
    """Plan `down`: senders first, so that none sends to a deleted resource."""
    merge = withdraw_notification(state.notification, owner, prune=prune)
    actions = [_describe_merge(source.bucket, merge, "delete")]
    desired = build_desired(source, owner, state.site, state.addresses, is_queue_given=state.is_queue_shared)
    # Deleting a topic deletes its subscriptions.
    actions += [
        plan_removal(state.find(item.kind), item.kind, item.name, owner)
        for item in reversed(desired)
        if item.kind != "subscription"
    ]
    actions += _list_orphans(source.bucket, state, merge, [item.address for item in desired], prune)
    return Plan(tuple(actions), (), state.warnings)


def merge_for(source: S3SourceConfig, owner: Owner, addresses: Addresses, prune: bool) -> MergeInto:
    """Return the merge into the configuration that exists at the time of writing."""
    targets: Mapping[str, WantedRule] = {
        "sqs": WantedRule("queue", addresses.queue, source.prefix),
        "sns": WantedRule("topic", addresses.topic, source.prefix),
        "eventbridge": WantedRule("eventbridge"),
    }
    wanted = targets[source.notifications]
    return lambda current: merge_notification(current, wanted, owner, prune=prune)


def withdraw_for(owner: Owner, prune: bool) -> MergeInto:
    """Return the reverse of `merge_for`."""
    return lambda current: withdraw_notification(current, owner, prune=prune)


def _find_given_queue(
    source: S3SourceConfig, owner: Owner, state: SourceState, adopt: bool
) -> Observed | None:
    """Return the user's own queue, used as it is; None if we create or maintain the queue."""
    queue = state.find("queue")
    if state.is_queue_shared:
        return queue
    if source.queue.url is None or queue is None or adopt:
        return None
    return None if owner.judge(queue.tags) == "ours" else queue


def _judge_region(source: S3SourceConfig, state: SourceState) -> Iterator[SetupFinding]:
    region, actual = state.site.region, state.bucket_region
    if not actual or actual == region:
        return
    # A queue without a configured region is expected in the bucket's region.
    key = QUEUE_REGION if source.queue.region or source.queue.url else "source.region"
    detail = f"the bucket is in {actual}, the queue would be in {region}: S3 cannot notify across regions"
    yield SetupFinding(key, "problem", detail, f"set {key} to {actual}")


def _judge_given_queue(source: S3SourceConfig, queue: Observed, state: SourceState) -> SetupFinding:
    service, sender, _ = find_sender(source, state.site, state.addresses)
    return judge_policy(queue.attributes.get("Policy", ""), queue.address, Sender(service, sender))


def _describe_missing_queue(url: str) -> SetupFinding:
    fix = "omit it: `headwater up` creates a queue, and `headwater run` finds it by its name"
    return SetupFinding("source.queue.url", "problem", f"there is no queue {url}", fix)


def _describe_merge(bucket: str, merge: Merge, change_word: str) -> ResourceAction:
    added = [change for change in merge.changes if not change.before]
    removed = [change for change in merge.changes if not change.after]
    if not merge.changes:
        return ResourceAction("notification", bucket, "none", note="; ".join(merge.notes))
    if change_word == "delete":
        return ResourceAction("notification", bucket, "delete", merge.changes, note="; ".join(merge.notes))
    is_new = bool(added) and not removed and len(added) == len(merge.changes)
    return ResourceAction("notification", bucket, "create" if is_new else "update", merge.changes)


def _list_orphans(
    bucket: str, state: SourceState, merge: Merge, wanted: list[str], prune: bool
) -> list[ResourceAction]:
    rules = [
        ResourceAction("notification", f"{bucket}: {rule_id}", "delete", note=ORPHAN_NOTE, orphan=True)
        for rule_id in merge.orphans
        if not prune
    ]
    return [*rules, *plan_orphans(state.tagged, wanted)]
