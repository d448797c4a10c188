"""Checks the bucket, its subscription, and the notifications between them."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from google.api_core import exceptions as api
from google.api_core.retry import Retry

from headwater.config.source import GcsSourceConfig
from headwater.errors import BucketNotFoundError, CredentialsError, HeadwaterError, QueueNotFoundError
from headwater.sources.finding import SetupFinding, to_finding
from headwater.sources.gcs.clients import build_storage_client, build_subscriber, find_subscription
from headwater.sources.gcs.google_errors import GOOGLE_ERRORS, asking, describe, is_busy
from headwater.sources.gcs.queue import name_subscription
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.cloud.storage import Client
    from google.pubsub_v1 import Subscription

BUCKET = "source.bucket"
SUBSCRIPTION = "source.subscription"
NOTIFICATION = "source.notification"
_CREATED = "OBJECT_FINALIZE"
_REMOVED = ("OBJECT_DELETE", "OBJECT_ARCHIVE")
_LEAST_RETENTION = 86_400.0
# A check must respond soon: a user waits for it.
_TIMEOUT = 10.0
_QUICK = Retry(predicate=is_busy, initial=0.2, maximum=1, timeout=_TIMEOUT)
_RIGHTS = "grant roles/storage.objectViewer on the bucket"
_NOTIFICATION_RIGHTS = "grant storage.buckets.get on the bucket (roles/storage.legacyBucketReader)"


def ensure_bucket(source: GcsSourceConfig) -> None:
    """Raise `CredentialsError` if credentials are missing or rejected, `SourceError` without a bucket.

    Credentials that may read objects but not list the bucket are sufficient.
    """
    subject = Subject(f"bucket {source.bucket}", BUCKET, _RIGHTS)
    with (
        closing(build_storage_client(source.endpoint, source.project)) as client,
        asking(subject, BucketNotFoundError),
    ):
        try:
            next(client.list_blobs(source.bucket, max_results=1, retry=_QUICK, timeout=_TIMEOUT).pages, None)
        except api.Forbidden:
            return


def ensure_subscription(source: GcsSourceConfig) -> "Subscription | None":
    """Return the subscription; None if the credentials may pull from it, but not see it.

    Raises `QueueNotFoundError`, `CredentialsError`, and `ConfigError` if no project is found.
    """
    name = find_subscription(source)
    with (
        build_subscriber(source.queue.endpoint) as client,
        asking(name_subscription(name), QueueNotFoundError),
    ):
        try:
            return client.get_subscription(subscription=name, retry=_QUICK, timeout=_TIMEOUT)
        except api.PermissionDenied:
            return None


def check_gcs_source(source: GcsSourceConfig, *, needs_removals: bool) -> list[SetupFinding]:
    """Check the bucket, the subscription, and that the bucket notifies the subscription's topic."""
    findings = []
    try:
        ensure_bucket(source)
        findings.append(SetupFinding(BUCKET, "ok", f"{source.bucket} is reachable"))
    except HeadwaterError as error:
        findings.append(to_finding(BUCKET, error))
        if isinstance(error, CredentialsError):
            return findings
    topic = ""
    try:
        found = ensure_subscription(source)
        topic = found.topic if found else ""
        findings += judge_subscription(source, found)
    except HeadwaterError as error:
        findings.append(to_finding(SUBSCRIPTION, error))
    if topic and findings[0].status == "ok":
        with closing(build_storage_client(source.endpoint, source.project)) as client:
            findings += _check_notifications(client, source, topic, needs_removals=needs_removals)
    return findings


def judge_subscription(source: GcsSourceConfig, found: "Subscription | None") -> list[SetupFinding]:
    """Return findings about the subscription's own settings."""
    if found is None:
        text = f"{source.subscription} cannot be checked: pubsub.subscriptions.get is denied"
        return [SetupFinding(SUBSCRIPTION, "warning", text, "grant roles/pubsub.viewer on the subscription")]
    if found.push_config.push_endpoint:
        text = f"{source.subscription} pushes its messages to {found.push_config.push_endpoint}"
        return [SetupFinding(SUBSCRIPTION, "problem", text, "use a subscription of type pull")]
    findings = [SetupFinding(SUBSCRIPTION, "ok", f"{found.name} exists")]
    if found.topic == "_deleted-topic_":
        text = f"the topic of {source.subscription} was deleted: no message will arrive"
        return [SetupFinding(SUBSCRIPTION, "problem", text, "create topic and subscription again")]
    if found.filter:
        text = f"{source.subscription} has the filter {found.filter!r}: other messages never arrive"
        findings.append(SetupFinding(f"{SUBSCRIPTION}.filter", "warning", text, "check that it is intended"))
    seconds = found.message_retention_duration.total_seconds()
    if 0 < seconds < _LEAST_RETENTION:
        text = f"messages are kept for {seconds / 3600:.1f} hours: a longer outage loses notifications"
        fix = "set the retention of the subscription to 7 days; until then, reconcile finds such objects"
        findings.append(SetupFinding(f"{SUBSCRIPTION}.retention", "warning", text, fix))
    return findings


def _check_notifications(
    client: "Client", source: GcsSourceConfig, topic: str, *, needs_removals: bool
) -> list[SetupFinding]:
    try:
        bucket = client.bucket(source.bucket)
        rules = [found._properties for found in bucket.list_notifications(retry=_QUICK, timeout=_TIMEOUT)]
    except GOOGLE_ERRORS as error:
        text = f"cannot be checked: {describe(error)}"
        return [SetupFinding(NOTIFICATION, "warning", text, _NOTIFICATION_RIGHTS)]
    return list(judge_notifications(rules, source, topic, needs_removals=needs_removals))


def judge_notifications(
    rules: Sequence[dict[str, Any]], source: GcsSourceConfig, topic: str, *, needs_removals: bool
) -> Iterator[SetupFinding]:
    """Yield findings about the bucket's notification rules, as the service's API represents them."""
    own = [rule for rule in rules if str(rule.get("topic", "")).endswith(topic)]
    fix = f"gcloud storage buckets notifications create gs://{source.bucket} --topic={topic}"
    if not own:
        yield SetupFinding(NOTIFICATION, "problem", f"{source.bucket} sends no notifications to {topic}", fix)
        return
    covering = [rule for rule in own if source.prefix.startswith(rule.get("object_name_prefix", ""))]
    if not covering:
        prefixes = ", ".join(repr(rule["object_name_prefix"]) for rule in own)
        text = f"{source.bucket} sends notifications for {prefixes} only, not for all of {source.prefix!r}"
        yield SetupFinding(NOTIFICATION, "problem", text, fix)
        return
    # A rule without event types sends all of them.
    sent = {kind for rule in covering for kind in rule.get("event_types") or (_CREATED, *_REMOVED)}
    wanted = (_CREATED, *(_REMOVED if needs_removals else ()))
    missing = [kind for kind in wanted if kind not in sent]
    if missing:
        text = f"{source.bucket} does not send {', '.join(missing)} to {topic}"
        yield SetupFinding(NOTIFICATION, "problem", text, f"{fix} --event-types={','.join(wanted)}")
        return
    yield SetupFinding(NOTIFICATION, "ok", f"{source.bucket} notifies {topic}")
