"""The desired state of topics, subscriptions, and the rights of Google's service agents. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.config.source import GcsSourceConfig
from headwater.sources.gcs.judging import NEVER
from headwater.sources.gcs.resource_names import Addresses, last_part
from headwater.sources.planning.actions import Desired
from headwater.sources.planning.desired_values import AtLeast, DesiredValue, Exactly, Includes
from headwater.sources.planning.ownership import Owner
from headwater.sources.provisioner import ResourceKind

# The longest retention that every Pub/Sub offers; a longer one is kept.
RETENTION_SECONDS = 7 * 86_400
PUBLISHER = "roles/pubsub.publisher"
SUBSCRIBER = "roles/pubsub.subscriber"
_ANOTHER_TOPIC = "set source.resources.topic to create another"
_ANOTHER_SUBSCRIPTION = "set source.subscription to another name"
_OWN_SUBSCRIPTION = f"{_ANOTHER_SUBSCRIPTION}, or to this one to use the subscription unchanged"


@dataclass(frozen=True, slots=True)
class Agents:
    """Google's service agents, the accounts with which its services act.

    `storage` belongs to the bucket's project and publishes notifications. `pubsub` belongs to the
    subscription's project and moves dead letters.
    """

    storage: str
    pubsub: str


def build_desired(
    source: GcsSourceConfig, owner: Owner, addresses: Addresses, agents: Agents
) -> list[Desired]:
    """Return the resources in order of creation."""
    tags = owner.build_tags(source.resources.labels)
    dead_topic = addresses.dead_letter_topic
    receiving: dict[str, DesiredValue] = {
        "ack_deadline": Exactly(str(source.queue.ack_deadline)),
        "dead_letter_topic": Exactly(dead_topic),
        "max_delivery_attempts": Exactly(str(source.resources.max_delivery_attempts)),
        **_grant("subscription", agents),
    }
    return [
        _build_topic("dead_letter_topic", dead_topic, agents, tags),
        Desired(
            "dead_letter_subscription",
            last_part(addresses.dead_letter_subscription),
            addresses.dead_letter_subscription,
            _keep_messages(dead_topic),
            tags,
            _ANOTHER_SUBSCRIPTION,
        ),
        _build_topic("topic", addresses.topic, agents, tags),
        Desired(
            "subscription",
            last_part(addresses.subscription),
            addresses.subscription,
            {**_keep_messages(addresses.topic), **receiving},
            tags,
            _OWN_SUBSCRIPTION,
        ),
    ]


def find_grant(kind: ResourceKind, agents: Agents) -> tuple[str, str]:
    """Return the role on a resource of this kind, and the member that needs it."""
    if kind == "topic":
        return PUBLISHER, f"serviceAccount:{agents.storage}"
    # The agent publishes a dead letter again, then acknowledges it in the subscription.
    role = SUBSCRIBER if kind == "subscription" else PUBLISHER
    return role, f"serviceAccount:{agents.pubsub}"


def _grant(kind: ResourceKind, agents: Agents) -> dict[str, DesiredValue]:
    role, member = find_grant(kind, agents)
    return {role: Includes(member)}


def _build_topic(kind: ResourceKind, address: str, agents: Agents, tags: Mapping[str, str]) -> Desired:
    return Desired(kind, last_part(address), address, _grant(kind, agents), tags, _ANOTHER_TOPIC)


def _keep_messages(topic: str) -> dict[str, DesiredValue]:
    """Return the settings of a subscription that loses no message of its topic."""
    return {
        "topic": Exactly(topic),
        "message_retention_duration": AtLeast(RETENTION_SECONDS, RETENTION_SECONDS),
        "expiration": Exactly(NEVER),
        "push_endpoint": Exactly(""),
        "filter": Exactly(""),
    }
