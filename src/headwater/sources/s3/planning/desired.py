"""The desired state of the resources of a source. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from headwater.config.source import S3SourceConfig
from headwater.sources.planning.actions import Desired
from headwater.sources.planning.desired_values import AtLeast, DesiredValue, Exactly
from headwater.sources.planning.names import DEAD_LETTER_ENDING
from headwater.sources.planning.ownership import Owner
from headwater.sources.s3.planning.desired_values import PolicyWith, SameJson, Statement
from headwater.sources.s3.resource_names import name_queue_of, name_resources, name_rule

RETENTION_SECONDS = 14 * 86_400
# A notification has up to 64 KiB; a queue with a lower limit rejects it, and it is lost.
MIN_MESSAGE_BYTES = 65_536
MESSAGE_BYTES = 262_144
_ANOTHER_NAME = "set source.resources.name to create another"
_OWN_QUEUE = f"{_ANOTHER_NAME}, set source.queue.url to its URL to use it unchanged"
SEND_SID = "HeadwaterSend"
TLS_SID = "HeadwaterTls"


@dataclass(frozen=True, slots=True)
class Site:
    """The account and region of the resources. `is_aws`: AWS itself, not a compatible service.

    `has_tls` is False if the queue's endpoint is plain HTTP: a policy that requires TLS would deny all
    access.
    """

    account: str
    region: str
    partition: str = "aws"
    is_aws: bool = True
    has_tls: bool = True

    def build_arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource of this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The ARNs of all resources of one source, desired or not."""

    bucket: str
    queue: str
    dead_letter_queue: str
    topic: str
    rule: str

    @classmethod
    def of(cls, source: S3SourceConfig, site: Site, queue_arn: str = "") -> "Addresses":
        """Build the ARNs; `queue_arn` is that of an existing queue, which may be in another account."""
        name = name_resources(source)
        queue = queue_arn or site.build_arn("sqs", name_queue_of(source))
        return cls(
            bucket=f"arn:{site.partition}:s3:::{source.bucket}",
            queue=queue,
            dead_letter_queue=f"{queue}{DEAD_LETTER_ENDING}",
            topic=site.build_arn("sns", name),
            rule=site.build_arn("events", f"rule/{name_rule(name)}"),
        )


def build_desired(
    source: S3SourceConfig, owner: Owner, site: Site, addresses: Addresses, *, is_queue_given: bool = False
) -> list[Desired]:
    """Return the resources in order of creation; without the queues if the user provides one."""
    tags = owner.build_tags(source.resources.tags)
    found = [] if is_queue_given else _build_queues(source, site, addresses, tags)
    if source.notifications == "sns":
        found += _build_topic(source, site, addresses, tags)
    if source.notifications == "eventbridge":
        found.append(_build_rule(source, addresses, tags))
    return found


def find_sender(source: S3SourceConfig, site: Site, addresses: Addresses) -> tuple[str, str, str]:
    """Return the sender to the queue: its service, its resource's ARN, and the account or an empty text."""
    if source.notifications == "sns":
        return "sns.amazonaws.com", addresses.topic, ""
    if source.notifications == "eventbridge":
        return "events.amazonaws.com", addresses.rule, ""
    return "s3.amazonaws.com", addresses.bucket, source.resources.bucket_owner or site.account


def build_event_pattern(source: S3SourceConfig) -> str:
    """Return the EventBridge pattern of the desired events; EventBridge reports expirations as deletions."""
    detail: dict[str, object] = {"bucket": {"name": [source.bucket]}}
    if source.prefix:
        detail["object"] = {"key": [{"prefix": source.prefix}]}
    kinds = ["Object Created", "Object Deleted", "Object Restore Completed"]
    return json.dumps({"source": ["aws.s3"], "detail-type": kinds, "detail": detail})


def _build_queues(
    source: S3SourceConfig, site: Site, addresses: Addresses, tags: Mapping[str, str]
) -> list[Desired]:
    shared: dict[str, DesiredValue] = {
        "MessageRetentionPeriod": Exactly(str(RETENTION_SECONDS)),
        "MaximumMessageSize": AtLeast(MIN_MESSAGE_BYTES, MESSAGE_BYTES),
        "VisibilityTimeout": Exactly(str(max(1, source.queue.visibility_timeout))),
        "DelaySeconds": Exactly("0"),
        **_encrypt_queue(source.resources.kms_key, site),
    }
    redrive = {
        "deadLetterTargetArn": addresses.dead_letter_queue,
        "maxReceiveCount": str(source.resources.max_receive_count),
    }
    service, sender, account = find_sender(source, site, addresses)
    send = _allow(service, "sqs:SendMessage", addresses.queue, sender, account)
    dead, queue = addresses.dead_letter_queue, addresses.queue
    return [
        Desired(
            "dead_letter_queue",
            _last(dead),
            dead,
            {**shared, "Policy": _build_policy([], "sqs:*", dead, site)},
            tags,
            _ANOTHER_NAME,
        ),
        Desired(
            "queue",
            _last(queue),
            queue,
            {
                **shared,
                "RedrivePolicy": SameJson(json.dumps(redrive)),
                "Policy": _build_policy([send], "sqs:*", queue, site),
            },
            tags,
            _OWN_QUEUE,
        ),
    ]


def _build_topic(
    source: S3SourceConfig, site: Site, addresses: Addresses, tags: Mapping[str, str]
) -> list[Desired]:
    topic, queue = addresses.topic, addresses.queue
    account = source.resources.bucket_owner or site.account
    publish = _allow("s3.amazonaws.com", "sns:Publish", topic, addresses.bucket, account)
    attributes: dict[str, DesiredValue] = {"Policy": _build_policy([publish], "sns:Publish", topic, site)}
    if site.is_aws or source.resources.kms_key:
        attributes["KmsMasterKeyId"] = Exactly(source.resources.kms_key or "")
    delivery: dict[str, DesiredValue] = {
        "Protocol": Exactly("sqs"),
        "Endpoint": Exactly(queue),
        # Without it each message has one more envelope and is a third larger.
        "RawMessageDelivery": Exactly("true"),
    }
    return [
        Desired("topic", _last(topic), topic, attributes, tags, _ANOTHER_NAME),
        Desired("subscription", f"{_last(topic)} -> {_last(queue)}", topic, delivery),
    ]


def _build_rule(source: S3SourceConfig, addresses: Addresses, tags: Mapping[str, str]) -> Desired:
    attributes: dict[str, DesiredValue] = {
        "EventPattern": SameJson(build_event_pattern(source)),
        "State": Exactly("ENABLED"),
        "Target": Exactly(addresses.queue),
    }
    name = addresses.rule.rsplit("/", 1)[-1]
    return Desired("rule", name, addresses.rule, attributes, tags, _ANOTHER_NAME)


def _encrypt_queue(kms_key: str | None, site: Site) -> dict[str, DesiredValue]:
    if kms_key:
        return {"KmsMasterKeyId": Exactly(kms_key)}
    # Services that are only SQS-compatible rarely support these attributes.
    return {"KmsMasterKeyId": Exactly(""), "SqsManagedSseEnabled": Exactly("true")} if site.is_aws else {}


def _build_policy(statements: list[Statement], action: str, arn: str, site: Site) -> PolicyWith:
    if not site.has_tls:
        return PolicyWith(tuple(statements), retired=frozenset({TLS_SID}))
    deny: Statement = {
        "Sid": TLS_SID,
        "Effect": "Deny",
        "Principal": "*",
        "Action": action,
        "Resource": arn,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return PolicyWith((*statements, deny))


def _allow(service: str, action: str, resource: str, sender: str, account: str) -> Statement:
    condition: dict[str, object] = {"ArnEquals": {"aws:SourceArn": sender}}
    if account:
        # A bucket's ARN has no account: another account could re-create a deleted bucket under its name.
        condition["StringEquals"] = {"aws:SourceAccount": account}
    return {
        "Sid": SEND_SID,
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": action,
        "Resource": resource,
        "Condition": condition,
    }


def _last(arn: str) -> str:
    return arn.rsplit(":", 1)[-1]
