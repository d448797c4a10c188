"""Judges by its settings whether a subscription receives every event of a bucket; no requests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.config.source import GcsSourceConfig
from headwater.sources.finding import SetupFinding
from headwater.sources.gcs.resource_names import name_subscription
from headwater.sources.planning.actions import Observed
from headwater.sources.provisioner import ResourceKind

SUBSCRIPTION = "source.subscription"
NOTIFICATION = "source.notification"
GRANTS = f"{SUBSCRIPTION}.grants"
CREATED = "OBJECT_FINALIZE"
# In a versioned bucket, a removed or overwritten object is archived.
REMOVED = ("OBJECT_DELETE", "OBJECT_ARCHIVE")
DELETED_TOPIC = "_deleted-topic_"
NEVER = "never"
_LEAST_RETENTION = 86_400.0


@dataclass(frozen=True, slots=True)
class NotificationRule:
    """A notification configuration of a bucket; without events it sends all of them."""

    id: str
    topic: str
    events: frozenset[str] = frozenset()
    prefix: str = ""
    payload_format: str = "JSON_API_V1"
    attributes: Mapping[str, str] = field(default_factory=dict)

    def sends(self, event: str) -> bool:
        """True if events of this type are sent."""
        return not self.events or event in self.events

    def covers(self, prefix: str) -> bool:
        """True if events of every key under `prefix` are sent."""
        return prefix.startswith(self.prefix)


def judge_subscription(source: GcsSourceConfig, found: Observed | None) -> list[SetupFinding]:
    """Return findings about the subscription's own settings; None if they may not be read."""
    if found is None:
        text = f"{name_subscription(source)} cannot be checked: pubsub.subscriptions.get is denied"
        return [SetupFinding(SUBSCRIPTION, "warning", text, "grant roles/pubsub.viewer on the subscription")]
    settings = found.attributes
    if settings["push_endpoint"]:
        text = f"{found.name} pushes its messages to {settings['push_endpoint']}"
        return [SetupFinding(SUBSCRIPTION, "problem", text, "use a subscription of type pull")]
    if settings["topic"] == DELETED_TOPIC:
        text = f"the topic of {found.name} was deleted: no message will arrive"
        fix = "delete the subscription, and create both again with `headwater up`"
        return [SetupFinding(SUBSCRIPTION, "problem", text, fix)]
    return [
        SetupFinding(SUBSCRIPTION, "ok", f"{found.address} exists"),
        *_judge_losses(found.name, settings),
    ]


def _judge_losses(name: str, settings: Mapping[str, str]) -> Iterator[SetupFinding]:
    """Yield findings about settings by which notifications are lost."""
    if settings["filter"]:
        text = f"{name} has the filter {settings['filter']!r}: other messages never arrive"
        yield SetupFinding(f"{SUBSCRIPTION}.filter", "warning", text, "check that it is intended")
    seconds = float(settings["message_retention_duration"] or 0)
    if 0 < seconds < _LEAST_RETENTION:
        text = f"messages are kept for {seconds / 3600:.1f} hours: a longer outage loses notifications"
        fix = "set the retention of the subscription to 7 days; until then, reconcile finds such objects"
        yield SetupFinding(f"{SUBSCRIPTION}.retention", "warning", text, fix)
    expiration = settings["expiration"]
    if expiration not in ("", NEVER):
        days = f"{int(expiration) / 86_400:.0f} days"
        text = f"{name} is deleted with its messages when no process has received from it for {days}"
        fix = f"gcloud pubsub subscriptions update {name} --expiration-period=never"
        yield SetupFinding(f"{SUBSCRIPTION}.expiration", "warning", text, fix)


def judge_notifications(
    rules: Iterable[NotificationRule], source: GcsSourceConfig, topic: str, *, needs_removals: bool
) -> Iterator[SetupFinding]:
    """Yield findings about the bucket's notifications to the topic."""
    own = [rule for rule in rules if rule.topic == topic]
    command = f"gcloud storage buckets notifications create gs://{source.bucket} --topic={topic}"
    fix = f"run `headwater up`, or {command}"
    if not own:
        yield SetupFinding(NOTIFICATION, "problem", f"{source.bucket} sends no notifications to {topic}", fix)
        return
    covering = [rule for rule in own if rule.covers(source.prefix)]
    if not covering:
        prefixes = ", ".join(repr(rule.prefix) for rule in own)
        text = f"{source.bucket} sends notifications for {prefixes} only, not for all of {source.prefix!r}"
        yield SetupFinding(NOTIFICATION, "problem", text, fix)
        return
    wanted = (CREATED, *(REMOVED if needs_removals else ()))
    missing = list_missing(covering, wanted)
    if missing:
        text = f"{source.bucket} does not send {', '.join(missing)} to {topic}"
        yield SetupFinding(NOTIFICATION, "problem", text, f"{fix} --event-types={','.join(wanted)}")
        return
    yield SetupFinding(NOTIFICATION, "ok", f"{source.bucket} notifies {topic}")


def list_missing(rules: Iterable[NotificationRule], wanted: Sequence[str]) -> list[str]:
    """Return the events that none of the rules sends."""
    sending = list(rules)
    return [event for event in wanted if not any(rule.sends(event) for rule in sending)]


def judge_grant(
    kind: ResourceKind, resource: str, needed: tuple[str, str], members: Mapping[str, str]
) -> SetupFinding | None:
    """Return a finding if a service agent lacks a role, given the members by role on the resource."""
    role, member = needed
    if member in members.get(role, "").split(", "):
        return None
    effect = "no notification is published" if kind == "topic" else "dead letters stay in the subscription"
    detail = f"{member} does not have {role} on {resource}: unless the project grants it, {effect}"
    group = resource.split("/")[2]
    command = f"gcloud pubsub {group} add-iam-policy-binding {resource} --member={member} --role={role}"
    return SetupFinding(GRANTS, "warning", detail, f"run `headwater up`, or {command}")
