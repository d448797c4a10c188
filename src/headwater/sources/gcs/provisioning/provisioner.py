"""Reads, plans, creates and removes resources in Google Cloud."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from headwater.errors import (
    BucketNotFoundError,
    ConfigError,
    CredentialsError,
    HeadwaterError,
    QueueNotFoundError,
)
from headwater.sources.finding import SetupFinding
from headwater.sources.gcs.clients import (
    build_publisher,
    build_storage_client,
    build_subscriber,
    find_addresses,
)
from headwater.sources.gcs.planning.ownership import build_owner
from headwater.sources.gcs.planning.roles import build_role_permissions
from headwater.sources.gcs.planning.source_plan import (
    SourceState,
    find_given,
    merge_for,
    plan_source,
    plan_source_removal,
    plan_with_given,
    withdraw_for,
)
from headwater.sources.gcs.provisioning.agents import find_agents
from headwater.sources.gcs.provisioning.notifications import BucketNotifications
from headwater.sources.gcs.provisioning.probe import GcsProbeObject
from headwater.sources.gcs.provisioning.subscriptions import SubscriptionResources
from headwater.sources.gcs.provisioning.topics import TopicResources
from headwater.sources.gcs.queue import MAX_DEADLINE_SECONDS, PubSubQueue
from headwater.sources.gcs.resource_names import Addresses, last_part, project_of
from headwater.sources.notifications.outcome import MessageParser
from headwater.sources.planning.actions import Observed
from headwater.sources.planning.names import DEAD_LETTER_ENDING
from headwater.sources.planning.ownership import Owner
from headwater.sources.probe import Probe
from headwater.sources.provisioner import (
    OnAction,
    Plan,
    ProvisioningScope,
    ResourceAction,
    ResourceKind,
    Role,
    ensure_applicable,
)

if TYPE_CHECKING:
    from google.cloud.storage import Bucket, Client
    from google.pubsub_v1 import PublisherClient, SubscriberClient

    from headwater.config.source import GcsSourceConfig, SourceConfig

# A granted role takes effect after seconds to minutes.
GRANT_PATIENCE_SECONDS = 120.0
# The required order of removal: senders before receivers, but a topic after its subscription.
_REMOVAL_ORDER = ("notification", "subscription", "topic", "dead_letter_subscription", "dead_letter_topic")
_Labeled = list[tuple[ResourceKind, str, str]]


class GoogleProvisioner:
    """See `Provisioner`."""

    def __init__(
        self, source: "GcsSourceConfig", owner: Owner, scope: ProvisioningScope, parse: MessageParser
    ) -> None:
        self._source = source
        self._owner = owner
        self._scope = scope
        self._parse = parse
        self._addresses = find_addresses(source)

    def plan(self) -> Plan:
        """See `Provisioner.plan`."""
        rules = self._notifications.read()
        state = replace(self._observe(), rules=tuple(rules))
        given = find_given(self._source, self._owner, state, adopt=self._scope.adopt)
        if given:
            return plan_with_given(self._source, self._owner, state, given, prune=self._scope.prune)
        granted = tuple(self._add_grants(item) for item in state.observed)
        agents = find_agents(self._storage, self._source.bucket, project_of(self._addresses.topic))
        state = replace(state, observed=granted)
        return plan_source(self._source, self._owner, state, agents, self._scope)

    def apply(self, plan: Plan, on_action: OnAction) -> None:
        """See `Provisioner.apply`."""
        ensure_applicable(plan)
        for action in plan.changes:
            self._apply(action)
            on_action(action)
        self._remove_orphans(plan, on_action)

    def plan_removal(self) -> Plan:
        """See `Provisioner.plan_removal`."""
        state = self._observe()
        # What remains of a deleted bucket can still be removed.
        with suppress(BucketNotFoundError):
            state = replace(state, rules=tuple(self._notifications.read()))
        return plan_source_removal(self._source, self._owner, state, prune=self._scope.prune)

    def remove(self, plan: Plan, on_action: OnAction) -> None:
        """See `Provisioner.remove`."""
        for action in plan.changes:
            if action.kind == "notification":
                self._notifications.write(withdraw_for(self._owner, prune=self._scope.prune))
            else:
                self._find_store(action.kind).delete(action)
            on_action(action)
        self._remove_orphans(plan, on_action)

    def probe(self, timeout_seconds: float) -> list[SetupFinding]:
        """See `Provisioner.probe`."""
        # Received messages stay with the probe until it releases them.
        held = min(MAX_DEADLINE_SECONDS, int(3 * timeout_seconds) + 60)
        client = build_subscriber(self._source.queue.endpoint)
        with closing(PubSubQueue(client, self._addresses.subscription, ack_deadline=held)) as queue:
            stored = GcsProbeObject(self._bucket, self._source.prefix)
            return Probe(stored, queue, self._parse).run(timeout_seconds)

    def close(self) -> None:
        """See `Provisioner.close`."""
        built = self.__dict__
        if "_storage" in built:
            self._storage.close()
        for name in ("_publisher", "_subscriber"):
            if name in built:
                built[name].transport.close()

    @cached_property
    def _storage(self) -> "Client":
        return build_storage_client(self._source.endpoint, project_of(self._addresses.topic))

    @cached_property
    def _bucket(self) -> "Bucket":
        return self._storage.bucket(self._source.bucket)

    @cached_property
    def _notifications(self) -> BucketNotifications:
        return BucketNotifications(self._bucket)

    @cached_property
    def _publisher(self) -> "PublisherClient":
        return build_publisher(self._source.queue.endpoint)

    @cached_property
    def _subscriber(self) -> "SubscriberClient":
        return build_subscriber(self._source.queue.endpoint)

    def _find_store(self, kind: ResourceKind) -> TopicResources | SubscriptionResources:
        if kind in ("topic", "dead_letter_topic"):
            return TopicResources(self._publisher, self._owner)
        return SubscriptionResources(self._subscriber, self._owner)

    def _observe(self) -> SourceState:
        found = [
            self._find_store(kind).read(kind, address) for kind, address in self._addresses.by_kind.items()
        ]
        labeled, warnings = self._find_labeled()
        return SourceState(
            self._addresses,
            observed=tuple(item for item in found if item is not None),
            labeled=tuple(labeled),
            warnings=warnings,
        )

    def _add_grants(self, found: Observed) -> Observed:
        """Add the grants of a resource that may be changed; others' need not be readable."""
        if not self._scope.adopt and self._owner.judge(found.tags) != "ours":
            return found
        grants = self._find_store(found.kind).read_grants(found.address)
        return replace(found, attributes={**found.attributes, **grants})

    def _find_labeled(self) -> tuple[_Labeled, tuple[SetupFinding, ...]]:
        """Find resources with our label in the project."""
        project = project_of(self._addresses.topic)
        kinds: tuple[tuple[ResourceKind, ResourceKind], ...] = (
            ("topic", "dead_letter_topic"),
            ("subscription", "dead_letter_subscription"),
        )
        found: _Labeled = []
        try:
            for kind, dead_letter_kind in kinds:
                for name in self._find_store(kind).list_owned(project):
                    is_dead = name.endswith(DEAD_LETTER_ENDING)
                    found.append((dead_letter_kind if is_dead else kind, last_part(name), name))
        except CredentialsError as error:
            detail = f"orphans are not detected: {error.message}"
            return [], (SetupFinding("source.resources.orphans", "warning", detail, error.hint),)
        return found, ()

    def _apply(self, action: ResourceAction) -> None:
        if action.kind == "notification":
            self._write_notification()
        elif action.change == "create":
            self._find_store(action.kind).create(action)
        else:
            self._find_store(action.kind).update(action)

    def _write_notification(self) -> None:
        # The subscription exists by now, and only it knows the topic of one that is the user's own.
        subscription = SubscriptionResources(self._subscriber, self._owner).read(
            "subscription", self._addresses.subscription
        )
        if subscription is None:
            raise QueueNotFoundError(
                f"subscription {self._addresses.subscription} was deleted concurrently",
                hint="run `headwater up` again",
            )
        is_ours = self._owner.judge(subscription.tags) == "ours"
        self._notifications.write(
            merge_for(self._source, self._owner, subscription.attributes["topic"], prune=self._scope.prune),
            grant_patience=GRANT_PATIENCE_SECONDS if is_ours else 0,
        )

    def _remove_orphans(self, plan: Plan, on_action: OnAction) -> None:
        if not self._scope.prune:
            return
        for action in sorted(plan.orphans, key=lambda item: _REMOVAL_ORDER.index(item.kind)):
            store = self._find_store(action.kind)
            # The labels may have changed since they were listed.
            found = store.read(action.kind, action.address)
            if found is not None and self._owner.judge(found.tags) == "ours":
                store.delete(action)
                on_action(action)


def build_google_provisioner(
    source: "SourceConfig", lake: str, scope: ProvisioningScope, parse: MessageParser
) -> GoogleProvisioner:
    """Build the provisioner of a source in Google Cloud. Raises `ConfigError` if no project is found."""
    if source.type != "gcs":
        raise ConfigError(f"a source of type {source.type!r} has nothing in Google Cloud")
    others = [(one.bucket, one.prefix) for one in scope.siblings if one.type == "gcs"]
    owner = build_owner(lake, source.bucket, source.prefix, others)
    return GoogleProvisioner(source, owner, scope, parse)


def build_source_policies(source: "GcsSourceConfig", lake: str) -> Mapping[Role, Mapping[str, Sequence[str]]]:
    """Return the permissions by role and resource; `*` stands for an unknown project."""
    try:
        addresses = find_addresses(source)
    except HeadwaterError:
        addresses = Addresses.of(source, "*")
    return build_role_permissions(source, lake, addresses)
