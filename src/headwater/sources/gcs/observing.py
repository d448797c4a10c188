"""Google's topics, subscriptions and notification configurations as the decisions see them."""

from typing import TYPE_CHECKING

from headwater.sources.gcs.judging import NEVER, NotificationRule
from headwater.sources.gcs.resource_names import last_part
from headwater.sources.planning.actions import Observed
from headwater.sources.provisioner import ResourceKind

if TYPE_CHECKING:
    from google.cloud.storage import BucketNotification
    from google.pubsub_v1 import Subscription, Topic


def observe_topic(kind: ResourceKind, topic: "Topic") -> Observed:
    """Return a topic without the rights granted on it."""
    return Observed(kind, last_part(topic.name), topic.name, {}, dict(topic.labels))


def observe_subscription(kind: ResourceKind, found: "Subscription") -> Observed:
    """Return a subscription without the rights granted on it; times are in seconds."""
    policy = found.dead_letter_policy
    attributes = {
        "topic": found.topic,
        "filter": found.filter,
        "push_endpoint": found.push_config.push_endpoint,
        "ack_deadline": str(found.ack_deadline_seconds),
        "message_retention_duration": f"{found.message_retention_duration.total_seconds():.0f}",
        "expiration": _read_expiration(found),
        "dead_letter_topic": policy.dead_letter_topic,
        "max_delivery_attempts": str(policy.max_delivery_attempts or ""),
    }
    return Observed(kind, last_part(found.name), found.name, attributes, dict(found.labels))


def observe_rule(found: "BucketNotification") -> NotificationRule:
    """Return a notification configuration of a bucket."""
    return NotificationRule(
        id=found.notification_id or "",
        topic=f"projects/{found.topic_project}/topics/{found.topic_name}",
        events=frozenset(found.event_types or ()),
        prefix=found.blob_name_prefix or "",
        payload_format=found.payload_format or "",
        attributes=found.custom_attributes or {},
    )


def _read_expiration(found: "Subscription") -> str:
    """Return seconds or `never`; empty if the service does not report a policy."""
    if "expiration_policy" not in found:
        return ""
    return f"{found.expiration_policy.ttl.total_seconds():.0f}" if found.expiration_policy.ttl else NEVER
