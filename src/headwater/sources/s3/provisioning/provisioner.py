"""Reads, plans, creates and removes resources in AWS and compatible services."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError, ProfileNotFound

from headwater.errors import (
    BucketNotFoundError,
    ConfigError,
    CredentialsError,
    HeadwaterError,
    SourceError,
)
from headwater.sources.finding import SetupFinding
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
from headwater.sources.s3.access import Access, open_session
from headwater.sources.s3.aws import FALLBACK_REGION, NO_CREDENTIALS_HINT, asking, is_denied
from headwater.sources.s3.checks.bucket import ask_bucket, build_s3_client, name_bucket
from headwater.sources.s3.planning.desired import Addresses, Site
from headwater.sources.s3.planning.notification_rules import Configuration
from headwater.sources.s3.planning.ownership import build_owner
from headwater.sources.s3.planning.roles import build_role_policies
from headwater.sources.s3.planning.source_plan import (
    SourceState,
    merge_for,
    plan_source,
    plan_source_removal,
    withdraw_for,
)
from headwater.sources.s3.provisioning.eventbridge import RuleResources
from headwater.sources.s3.provisioning.kms import check_key
from headwater.sources.s3.provisioning.probe import S3ProbeObject
from headwater.sources.s3.provisioning.s3 import BucketNotification
from headwater.sources.s3.provisioning.sns import TopicResources
from headwater.sources.s3.provisioning.sqs import QueueResources
from headwater.sources.s3.queue import SqsQueue, build_call, find_queue_endpoint
from headwater.sources.s3.resource_names import name_queue_of
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from headwater.config.source import S3SourceConfig, SourceConfig

_CONFIG = Config(
    connect_timeout=5,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 5},
    tcp_keepalive=True,
)
_KIND_BY_SERVICE: dict[str, ResourceKind] = {"sqs": "queue", "sns": "topic", "events": "rule"}
# The required order of removal: senders before receivers.
_REMOVAL_ORDER = ("notification", "subscription", "rule", "topic", "queue", "dead_letter_queue")


class AwsClients:
    """Clients for the queue's endpoint and region, built on first use."""

    def __init__(self, source: "S3SourceConfig") -> None:
        self._source = source
        self._endpoint, self._region = find_queue_endpoint(source)
        self._built: dict[str, Any] = {}

    @property
    def is_aws(self) -> bool:
        """True for AWS itself, also through a private endpoint."""
        return self._endpoint is None or ".amazonaws.com" in self._endpoint

    @property
    def has_tls(self) -> bool:
        """True if the queue's endpoint uses TLS."""
        return not (self._endpoint or "https:").startswith("http:")

    @property
    def region(self) -> str:
        """Return the region of the existing or future queue."""
        return str(self.get("sqs").meta.region_name)

    def get(self, service: str) -> Any:
        """Return a client for a service. Raises `ConfigError` if no region is found."""
        if service not in self._built:
            self._built[service] = self._build(service)
        return self._built[service]

    @cached_property
    def core(self) -> botocore.session.Session:
        """Return the session that finds the credentials."""
        return open_session(Access.of(self._source))

    @cached_property
    def _session(self) -> boto3.session.Session:
        return boto3.session.Session(botocore_session=self.core)

    @cached_property
    def s3(self) -> Any:
        """Return a client for the bucket."""
        return build_s3_client(self._source.endpoint, self._source.region, access=Access.of(self._source))

    def close(self) -> None:
        """Close connections."""
        for client in (*self._built.values(), *([self.s3] if "s3" in self.__dict__ else [])):
            client.close()

    def _build(self, service: str) -> Any:
        # A private endpoint serves one service.
        shared = None if self.is_aws and service != "sqs" else self._endpoint
        try:
            region = self._region or self._session.region_name or (None if self.is_aws else FALLBACK_REGION)
            build: Callable[..., Any] = self._session.client
            return build(service, region_name=region, endpoint_url=shared, config=_CONFIG)
        except NoRegionError as error:
            hint = "set source.queue.region, source.region or AWS_REGION"
            raise ConfigError("no region for the queue", hint=hint) from error
        except ProfileNotFound as error:
            raise CredentialsError(f"no credentials: {error}", hint=NO_CREDENTIALS_HINT) from error
        except (BotoCoreError, ValueError) as error:
            raise ConfigError(f"{service}: {error}", hint="check source.queue.endpoint") from error


class AwsProvisioner:
    """See `Provisioner`."""

    def __init__(
        self,
        source: "S3SourceConfig",
        owner: Owner,
        scope: ProvisioningScope,
        clients: AwsClients,
        parse: MessageParser,
    ) -> None:
        self._source = source
        self._scope = scope
        self._owner = owner
        self._clients = clients
        self._parse = parse

    def plan(self) -> Plan:
        """See `Provisioner.plan`."""
        state = self._observe(self._ask_bucket(), self._open_notification().read())
        plan = plan_source(self._source, self._owner, state, self._scope.adopt, self._scope.prune)
        if not self._source.resources.kms_key:
            return plan
        findings = check_key(self._clients.get("kms"), self._source, state.site.account)
        return replace(
            plan,
            problems=(*plan.problems, *(item for item in findings if item.status == "problem")),
            warnings=(*plan.warnings, *(item for item in findings if item.status == "warning")),
        )

    def apply(self, plan: Plan, on_action: OnAction) -> None:
        """See `Provisioner.apply`."""
        ensure_applicable(plan)
        for action in plan.changes:
            self._apply(action)
            on_action(action)
        self._remove_orphans(plan, on_action)

    def plan_removal(self) -> Plan:
        """See `Provisioner.plan_removal`."""
        try:
            bucket_region = self._ask_bucket()
            notification = self._open_notification().read()
        except BucketNotFoundError:
            # What remains of a deleted bucket can still be removed.
            bucket_region, notification = None, {}
        state = self._observe(bucket_region, notification)
        return plan_source_removal(self._source, self._owner, state, self._scope.prune)

    def remove(self, plan: Plan, on_action: OnAction) -> None:
        """See `Provisioner.remove`."""
        for action in plan.changes:
            self._remove(action)
            on_action(action)
        self._remove_orphans(plan, on_action)

    def probe(self, timeout_seconds: float) -> list[SetupFinding]:
        """See `Provisioner.probe`."""
        client = self._clients.get("sqs")
        name = name_queue_of(self._source)
        with asking(Subject(f"queue {name}", "source.queue", ""), "sqs"):
            url = self._source.queue.url or client.get_queue_url(QueueName=name)["QueueUrl"]
        # Received messages stay hidden until the probe releases them.
        call = build_call(client, self._clients.core)
        with closing(SqsQueue(call, url, visibility_timeout=int(3 * timeout_seconds) + 60)) as queue:
            stored = S3ProbeObject(self._clients.s3, self._source.bucket, self._source.prefix)
            return Probe(stored, queue, self._parse).run(timeout_seconds)

    def close(self) -> None:
        """See `Provisioner.close`."""
        self._clients.close()

    def _ask_bucket(self) -> str | None:
        """Return the bucket's region if the store has regions. Raises `BucketNotFoundError`."""
        answer = ask_bucket(self._clients.s3, self._source.bucket, name_bucket(self._source))
        return answer.region if self._clients.is_aws else None

    def _read_queue(self) -> Observed | None:
        queues = QueueResources(self._clients.get("sqs"))
        return queues.read("queue", name_queue_of(self._source), self._source.queue.url)

    def _observe(self, bucket_region: str | None, notification: Configuration) -> SourceState:
        source, clients = self._source, self._clients
        queue = self._read_queue()
        site = find_site(clients, queue, self._owner)
        addresses = Addresses.of(source, site, queue.address if queue else "")
        tagged, warning = self.find_tagged()
        return SourceState(
            site=site,
            addresses=addresses,
            bucket_region=bucket_region,
            notification=notification,
            observed=(*([queue] if queue else []), *self._read_others(addresses)),
            tagged=tuple(tagged),
            warnings=(warning,) if warning else (),
            is_queue_shared=self._scope.shares_queue(source),
        )

    def _read_others(self, addresses: Addresses) -> list[Observed]:
        queues = QueueResources(self._clients.get("sqs"))
        name = f"{name_queue_of(self._source)}{DEAD_LETTER_ENDING}"
        found = [queues.read("dead_letter_queue", name)]
        if self._source.notifications == "sns":
            topics = TopicResources(self._clients.get("sns"))
            topic = topics.read_topic(addresses.topic)
            found.append(topic)
            if topic:
                name = f"{topic.name} -> {name_queue_of(self._source)}"
                found.append(topics.read_subscription(topic.address, addresses.queue, name))
        if self._source.notifications == "eventbridge":
            found.append(RuleResources(self._clients.get("events")).read(addresses.rule))
        return [item for item in found if item is not None]

    def find_tagged(self) -> tuple[list[tuple[ResourceKind, str, str]], SetupFinding | None]:
        """Find resources with our tag in this region; the tagging API is some seconds behind."""
        found: list[tuple[ResourceKind, str, str]] = []
        try:
            pages = self._clients.get("resourcegroupstaggingapi").get_paginator("get_resources")
            for page in pages.paginate(
                TagFilters=[{"Key": self._owner.style.owner, "Values": [self._owner.id]}],
                ResourceTypeFilters=list(_KIND_BY_SERVICE),
            ):
                found += [
                    _name_tagged(item["ResourceARN"])
                    for item in page["ResourceTagMappingList"]
                    if self._owner.is_orphan_candidate({tag["Key"]: tag["Value"] for tag in item["Tags"]})
                ]
        except (BotoCoreError, ClientError) as error:
            why = "tag:GetResources is denied" if is_denied(error) else f"cannot read tags: {error}"
            fix = "allow tag:GetResources (`headwater plan --policies`: role set-up), or check manually"
            return [], SetupFinding(
                "source.resources.orphans", "warning", f"orphans are not detected: {why}", fix
            )
        return found, None

    def _apply(self, action: ResourceAction) -> None:
        if action.kind == "notification":
            source = self._source
            # The queue exists by now, and its own ARN is authoritative.
            queue = self._read_queue()
            site = find_site(self._clients, queue, self._owner)
            addresses = Addresses.of(source, site, queue.address if queue else "")
            merge_into = merge_for(source, self._owner, addresses, self._scope.prune)
            self._open_notification().write(merge_into)
        elif action.change == "create":
            self._find_store(action).create(action)
        else:
            self._find_store(action).update(action)

    def _remove(self, action: ResourceAction) -> None:
        if action.kind == "notification":
            self._open_notification().write(withdraw_for(self._owner, self._scope.prune))
        else:
            self._find_store(action).delete(action)

    def _remove_orphans(self, plan: Plan, on_action: OnAction) -> None:
        if not self._scope.prune:
            return
        for action in sorted(plan.orphans, key=lambda item: _REMOVAL_ORDER.index(item.kind)):
            if action.kind == "notification":
                continue  # applied with the merge
            if self._is_ours(action):
                self._find_store(action).delete(action)
                on_action(action)

    def _is_ours(self, action: ResourceAction) -> bool:
        """Check the resource's own tags: those of the tagging API may be out of date."""
        if action.kind == "topic":
            found = TopicResources(self._clients.get("sns")).read_topic(action.address)
        elif action.kind == "rule":
            found = RuleResources(self._clients.get("events")).read(action.address)
        else:
            found = QueueResources(self._clients.get("sqs")).read(action.kind, action.resource)
        return found is not None and self._owner.judge(found.tags) == "ours"

    def _find_store(self, action: ResourceAction) -> QueueResources | TopicResources | RuleResources:
        if action.kind in ("topic", "subscription"):
            return TopicResources(self._clients.get("sns"))
        if action.kind == "rule":
            return RuleResources(self._clients.get("events"))
        return QueueResources(self._clients.get("sqs"))

    def _open_notification(self) -> BucketNotification:
        source = self._source
        return BucketNotification(self._clients.s3, source.bucket, source.resources.bucket_owner or "")


def find_site(clients: AwsClients, queue: Observed | None, owner: Owner) -> Site:
    """Return account, region and partition: those of a queue of ours, else of the credentials.

    Another owner's queue may be in another account; its values are used only if nothing else is available.
    """
    if queue and owner.judge(queue.tags) == "ours":
        return _read_site(queue.address, clients)
    try:
        with asking(Subject("the account of the credentials", "source.queue", ""), "sts"):
            identity = clients.get("sts").get_caller_identity()
    except SourceError:
        if queue:
            return _read_site(queue.address, clients)
        raise
    partition = identity["Arn"].split(":")[1]
    return Site(identity["Account"], clients.region, partition, clients.is_aws, clients.has_tls)


def _read_site(queue_arn: str, clients: AwsClients) -> Site:
    _, partition, _, region, account, _ = queue_arn.split(":", 5)
    return Site(account, region, partition, clients.is_aws, clients.has_tls)


def _name_tagged(arn: str) -> tuple[ResourceKind, str, str]:
    service = arn.split(":")[2]
    name = arn.rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    kind = _KIND_BY_SERVICE[service]
    if kind == "queue" and name.endswith(DEAD_LETTER_ENDING):
        kind = "dead_letter_queue"
    return kind, name, arn


def build_aws_provisioner(
    source: "SourceConfig", lake: str, scope: ProvisioningScope, parse: MessageParser
) -> AwsProvisioner:
    """Build the provisioner of an S3 source. Raises `ConfigError` if no region is found."""
    if source.type != "s3":
        raise ConfigError(f"a source of type {source.type!r} has nothing in AWS")
    others = [(one.bucket, one.prefix) for one in scope.siblings if one.type == "s3"]
    owner = build_owner(lake, source.bucket, source.prefix, others)
    return AwsProvisioner(source, owner, scope, AwsClients(source), parse)


def build_source_policies(source: "S3SourceConfig", lake: str) -> Mapping[Role, Mapping[str, object]]:
    """Build IAM policies by role; `*` stands for an unknown account or region."""
    clients = AwsClients(source)
    try:
        site = find_site(clients, None, build_owner(lake, source.bucket, source.prefix))
    except HeadwaterError:
        site = Site("*", source.queue.region or source.region or "*")
    finally:
        clients.close()
    return build_role_policies(source, lake, site, Addresses.of(source, site))
