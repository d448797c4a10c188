"""Checks the bucket, its subscription, and the notifications between them."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from google.api_core import exceptions as api
from google.api_core.retry import Retry

from headwater.config.source import GcsSourceConfig
from headwater.errors import (
    BucketNotFoundError,
    CredentialsError,
    HeadwaterError,
    QueueNotFoundError,
    SourceError,
)
from headwater.sources.finding import SetupFinding, to_finding
from headwater.sources.gcs.clients import build_storage_client, build_subscriber, find_subscription
from headwater.sources.gcs.google_errors import GOOGLE_ERRORS, asking, describe, is_busy
from headwater.sources.gcs.judging import (
    DELETED_TOPIC,
    GRANTS,
    NOTIFICATION,
    SUBSCRIPTION,
    judge_grant,
    judge_notifications,
    judge_subscription,
)
from headwater.sources.gcs.observing import observe_rule, observe_subscription
from headwater.sources.gcs.planning.desired import find_grant
from headwater.sources.gcs.provisioning.agents import find_agents
from headwater.sources.gcs.provisioning.grants import Grants
from headwater.sources.gcs.queue import name_subscription
from headwater.sources.gcs.resource_names import project_of
from headwater.sources.provisioner import ResourceKind
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.cloud.storage import Client
    from google.pubsub_v1 import Subscription

BUCKET = "source.bucket"
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
    found = None
    try:
        found = ensure_subscription(source)
        findings += judge_subscription(source, observe_subscription("subscription", found) if found else None)
    except HeadwaterError as error:
        findings.append(to_finding(SUBSCRIPTION, error))
    if found and findings[0].status == "ok":
        with closing(build_storage_client(source.endpoint, source.project)) as client:
            findings += _check_notifications(client, source, found.topic, needs_removals=needs_removals)
            findings += _check_grants(client, source, found)
    return findings


def _check_notifications(
    client: "Client", source: GcsSourceConfig, topic: str, *, needs_removals: bool
) -> list[SetupFinding]:
    try:
        bucket = client.bucket(source.bucket)
        rules = [observe_rule(found) for found in bucket.list_notifications(retry=_QUICK, timeout=_TIMEOUT)]
    except GOOGLE_ERRORS as error:
        text = f"cannot be checked: {describe(error)}"
        return [SetupFinding(NOTIFICATION, "warning", text, _NOTIFICATION_RIGHTS)]
    return list(judge_notifications(rules, source, topic, needs_removals=needs_removals))


def _check_grants(client: "Client", source: GcsSourceConfig, found: "Subscription") -> list[SetupFinding]:
    """Check the roles of Google's service agents, if the credentials may read them: a run need not."""
    try:
        agents = find_agents(client, source.bucket, project_of(found.name))
        with build_subscriber(source.queue.endpoint) as subscriber:
            judged = [
                judge_grant(kind, resource, find_grant(kind, agents), Grants(subscriber, resource).read())
                for kind, resource in _list_granted(found)
            ]
    except SourceError:
        return []
    good = SetupFinding(GRANTS, "ok", "Google's service agents have the roles that they need")
    return [item for item in judged if item is not None] or [good]


def _list_granted(found: "Subscription") -> Iterator[tuple[ResourceKind, str]]:
    """Yield the resources on which service agents need a role."""
    if found.topic != DELETED_TOPIC:
        yield "topic", found.topic
    dead_letter_topic = found.dead_letter_policy.dead_letter_topic
    if dead_letter_topic:
        yield "subscription", found.name
    if dead_letter_topic not in ("", DELETED_TOPIC):
        yield "dead_letter_topic", dead_letter_topic
