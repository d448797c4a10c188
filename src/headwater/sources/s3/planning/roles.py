"""Least-privilege IAM policies for set-up, ingestion and serving. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from headwater.config.source import S3SourceConfig
from headwater.sources.probe import PROBE_FOLDER
from headwater.sources.provisioner import Role
from headwater.sources.s3.planning.desired import Addresses, Site
from headwater.sources.s3.planning.desired_values import Statement

_QUEUE_SET_UP = (
    "sqs:CreateQueue",
    "sqs:DeleteQueue",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ListQueueTags",
    "sqs:SetQueueAttributes",
    "sqs:TagQueue",
)
_QUEUE_RECEIVE = ("sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage")
_TOPIC_SET_UP = (
    "sns:CreateTopic",
    "sns:DeleteTopic",
    "sns:GetTopicAttributes",
    "sns:ListSubscriptionsByTopic",
    "sns:ListTagsForResource",
    "sns:SetTopicAttributes",
    "sns:Subscribe",
    "sns:TagResource",
)
# IAM cannot restrict rights to one subscription.
_SUBSCRIPTION_SET_UP = ("sns:GetSubscriptionAttributes", "sns:SetSubscriptionAttributes", "sns:Unsubscribe")
_RULE_SET_UP = (
    "events:DeleteRule",
    "events:DescribeRule",
    "events:ListTagsForResource",
    "events:ListTargetsByRule",
    "events:PutRule",
    "events:PutTargets",
    "events:RemoveTargets",
    "events:TagResource",
)
_TAGS_READ = ("s3:GetObjectTagging", "s3:GetObjectVersionTagging")
_TAGS_WRITE = ("s3:PutObjectTagging", "s3:PutObjectVersionTagging")
_BUCKET_READ = ("s3:GetBucketNotification", "s3:GetBucketVersioning", "s3:ListBucket")


def build_role_policies(
    source: S3SourceConfig, lake: str, site: Site, addresses: Addresses
) -> dict[Role, Mapping[str, object]]:
    """Build an IAM policy document by role. A lake outside S3 needs no right there."""
    return {
        "set-up": _build_document(_list_set_up(source, site, addresses)),
        "ingest": _build_document(_list_ingest(source, lake, site, addresses)),
        "serve": _build_document(_list_serve(lake, site, addresses)),
    }


def _list_set_up(source: S3SourceConfig, site: Site, addresses: Addresses) -> Iterator[Statement]:
    yield _allow("Queues", _QUEUE_SET_UP, addresses.queue, addresses.dead_letter_queue)
    yield _allow("ProbeQueue", _QUEUE_RECEIVE, addresses.queue)
    yield _allow("Bucket", (*_BUCKET_READ, "s3:PutBucketNotification"), addresses.bucket)
    probe = f"{addresses.bucket}/{source.prefix}{PROBE_FOLDER}*"
    yield _allow("ProbeObject", ("s3:DeleteObject", "s3:DeleteObjectVersion", "s3:PutObject"), probe)
    # The tagging API does not support resources in policies.
    yield _allow("Orphans", ("tag:GetResources",), "*")
    if source.notifications == "sns":
        yield _allow("Topic", _TOPIC_SET_UP, addresses.topic)
        yield _allow("Subscriptions", _SUBSCRIPTION_SET_UP, "*")
    if source.notifications == "eventbridge":
        yield _allow("Rule", _RULE_SET_UP, addresses.rule)
    if source.resources.kms_key:
        yield _allow_key(
            ("kms:Decrypt", "kms:DescribeKey", "kms:GetKeyPolicy"), source.resources.kms_key, site
        )


def _list_ingest(source: S3SourceConfig, lake: str, site: Site, addresses: Addresses) -> Iterator[Statement]:
    yield _allow("Queue", (*_QUEUE_RECEIVE, "sqs:GetQueueAttributes", "sqs:GetQueueUrl"), addresses.queue)
    yield _allow("Bucket", _BUCKET_READ, addresses.bucket)
    objects = f"{addresses.bucket}/{source.prefix}*"
    yield _allow("Objects", ("s3:GetObject", "s3:GetObjectVersion"), objects)
    yield from _list_cleaning(source, site, objects)
    bucket, below = _find_lake(lake, site)
    if bucket:
        yield _allow("Lake", ("s3:GetBucketLocation", "s3:ListBucket"), bucket)
        rights = ("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject")
        yield _allow("LakeObjects", rights, below)
    if source.resources.kms_key:
        yield _allow_key(("kms:Decrypt",), source.resources.kms_key, site)


def _list_cleaning(source: S3SourceConfig, site: Site, objects: str) -> Iterator[Statement]:
    """List the rights that `clean_source` needs beyond reading."""
    action = source.clean_source
    if action == "tag":
        yield _allow("CleanSource", (*_TAGS_READ, *_TAGS_WRITE), objects)
    if action in ("move", "delete"):
        # Never of a version: in a versioned bucket a deletion is reversible.
        yield _allow("CleanSource", ("s3:DeleteObject", *(_TAGS_READ if action == "move" else ())), objects)
    if action == "move":
        target = f"arn:{site.partition}:s3:::{source.clean_source_target}*"
        rights = ("s3:AbortMultipartUpload", "s3:PutObject", "s3:PutObjectTagging")
        yield _allow("CleanSourceTarget", rights, target)


def _list_serve(lake: str, site: Site, addresses: Addresses) -> Iterator[Statement]:
    yield _allow("Queue", ("sqs:GetQueueAttributes", "sqs:GetQueueUrl"), addresses.queue)
    bucket, below = _find_lake(lake, site)
    if bucket:
        yield _allow("Lake", ("s3:GetBucketLocation", "s3:ListBucket"), bucket)
        yield _allow("LakeObjects", ("s3:GetObject",), below)


def _find_lake(lake: str, site: Site) -> tuple[str, str]:
    """Return the ARNs of the lake's bucket and of the objects below the lake; empty if it is not in S3."""
    parts = urlsplit(lake)
    if parts.scheme not in ("s3", "s3a"):
        return "", ""
    bucket = f"arn:{site.partition}:s3:::{parts.netloc}"
    folder = parts.path.strip("/")
    return bucket, f"{bucket}/{folder}/*" if folder else f"{bucket}/*"


def _allow_key(actions: Sequence[str], key: str, site: Site) -> Statement:
    alias = key[key.find("alias/") :] if "alias/" in key else ""
    if alias:
        # A policy cannot name a key by its alias, but its condition can.
        condition = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": alias}}
        return {**_allow("Key", actions, site.build_arn("kms", "key/*")), "Condition": condition}
    return _allow("Key", actions, key if key.startswith("arn:") else site.build_arn("kms", f"key/{key}"))


def _allow(sid: str, actions: Sequence[str], *resources: str) -> Statement:
    return {"Sid": sid, "Effect": "Allow", "Action": sorted(actions), "Resource": list(resources)}


def _build_document(statements: Iterator[Statement]) -> dict[str, object]:
    return {"Version": "2012-10-17", "Statement": list(statements)}
