"""Checks the source's S3 bucket and an `s3a://` lake."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headwater.config.lake_storage import LakeStorageConfig
from headwater.config.source import S3SourceConfig
from headwater.errors import CredentialsError, HeadwaterError, LakeNotWritableError, SourceError
from headwater.observability.clock import Clock
from headwater.sources.finding import SetupFinding, to_finding
from headwater.sources.s3.access import DEFAULT_ACCESS, Access, open_session
from headwater.sources.s3.aws import FALLBACK_REGION, AwsError, explain_aws_failure, is_denied
from headwater.sources.s3.checks.credentials import QUICK, check_credentials
from headwater.sources.s3.checks.queue import check_queue
from headwater.sources.s3.judging.bucket import (
    VERSIONING,
    QueueView,
    judge_cleaning,
    judge_region,
    judge_versioning,
    judge_way,
)
from headwater.sources.s3.judging.clock import judge_clock
from headwater.sources.s3.judging.notification import NAME as NOTIFICATION
from headwater.sources.s3.judging.notification import DesiredNotification
from headwater.sources.s3.planning.notification_rules import list_routes
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "source.bucket"
_RIGHTS = "allow s3:ListBucket on the bucket, s3:GetObject and s3:GetObjectVersion on its objects"
_LAKE_RIGHTS = (
    "allow s3:GetObject, s3:PutObject and s3:DeleteObject under the lake, s3:ListBucket on its bucket"
)


@dataclass(frozen=True, slots=True)
class BucketAnswer:
    """A bucket that responded: its region if the store reports it, and the response's headers."""

    region: str | None
    headers: Mapping[str, str]


def check_s3_source(source: S3SourceConfig, *, needs_removals: bool, clock: Clock) -> list[SetupFinding]:
    """Check credentials, queue, bucket, clock, and the path from the bucket to the queue.

    `needs_removals`: some table needs events of deleted objects. A problem that makes other checks
    meaningless replaces their findings.
    """
    credentials = check_credentials(Access.of(source), ask_aws=source.endpoint is None)
    if credentials.status == "problem":
        return [credentials]
    attributes, queue_findings = check_queue(source)
    wanted = DesiredNotification(source.bucket, attributes.get("QueueArn", ""), source.prefix, needs_removals)
    try:
        with closing(build_s3_client(source.endpoint, source.region, access=Access.of(source))) as client:
            bucket_findings = list(_check_bucket(client, source, QueueView.of(attributes), wanted, clock))
    except HeadwaterError as error:
        bucket_findings = [to_finding(BUCKET, error)]
    return [credentials, *bucket_findings, *queue_findings]


def build_s3_client(
    endpoint: str | None,
    region: str | None,
    path_style: bool | None = None,
    access: Access = DEFAULT_ACCESS,
) -> "S3Client":
    """Build a client that responds or fails soon. Raises `SourceError` if that fails."""
    path_style = endpoint is not None if path_style is None else path_style
    try:
        session = boto3.session.Session(botocore_session=open_session(access))
        return session.client(
            "s3",
            region_name=region or session.region_name or (FALLBACK_REGION if endpoint else None),
            endpoint_url=endpoint,
            config=QUICK.merge(Config(s3={"addressing_style": "path" if path_style else "auto"})),
        )
    except (BotoCoreError, ValueError) as error:
        raise SourceError(
            f"S3 at {endpoint or 'AWS'}: {error}", hint="check the endpoint, the region and AWS_PROFILE"
        ) from error


def ask_bucket(client: "S3Client", bucket: str, subject: Subject) -> BucketAnswer:
    """Send a HEAD request to the bucket. Raises the errors of `explain_aws_failure`."""
    try:
        answer = client.head_bucket(Bucket=bucket)
    except (BotoCoreError, ClientError) as error:
        raise explain_aws_failure(_find_reason(client, bucket, error), subject) from error
    headers = answer["ResponseMetadata"].get("HTTPHeaders", {})
    return BucketAnswer(answer.get("BucketRegion") or headers.get("x-amz-bucket-region"), headers)


def ensure_bucket(source: S3SourceConfig) -> None:
    """Raise `CredentialsError` if credentials are missing or invalid, `SourceError` without a bucket.

    Credentials that may read objects but not list the bucket are sufficient.
    """
    subject = name_bucket(source)
    with closing(build_s3_client(source.endpoint, source.region, access=Access.of(source))) as client:
        try:
            client.list_objects_v2(Bucket=source.bucket, Prefix=source.prefix, MaxKeys=1)
        except (BotoCoreError, ClientError) as error:
            if not is_denied(error):
                raise explain_aws_failure(error, subject) from error


def name_bucket(source: S3SourceConfig) -> Subject:
    """Return the bucket's name for error messages."""
    return Subject(f"bucket {source.bucket}", "source", _RIGHTS)


def check_s3_lake(lake: str, storage: LakeStorageConfig) -> list[SetupFinding]:
    """Put and delete a tiny object under an `s3a://` lake, and check the bucket's region for Spark."""
    parts = urlsplit(lake)
    prefix = parts.path.strip("/")
    key = "/".join([*([prefix] if prefix else []), "_headwater", f"doctor-{uuid.uuid4().hex}"])
    subject = Subject(f"the lake {lake}", "lake_storage", _LAKE_RIGHTS)
    try:
        with closing(build_s3_client(storage.endpoint, storage.region, storage.path_style)) as client:
            client.put_object(Bucket=parts.netloc, Key=key, Body=b"")
            client.delete_object(Bucket=parts.netloc, Key=key)
            headers = client.head_bucket(Bucket=parts.netloc)["ResponseMetadata"].get("HTTPHeaders", {})
    except (BotoCoreError, ClientError) as error:
        reason = explain_aws_failure(error, subject)
        return [to_finding("lake", LakeNotWritableError(reason.message, hint=reason.hint))]
    except HeadwaterError as error:
        return [to_finding("lake", error)]
    # Unlike boto3, Spark's S3A does not follow a store to another region.
    signed_for = storage.region or (FALLBACK_REGION if storage.endpoint else None)
    region = judge_region("lake_storage", headers.get("x-amz-bucket-region"), signed_for, None)
    there = SetupFinding("lake", "ok", f"{lake} is writable")
    return [there, region] if region and region.status != "ok" else [there]


def _check_bucket(
    client: "S3Client",
    source: S3SourceConfig,
    queue: QueueView | None,
    wanted: DesiredNotification,
    clock: Clock,
) -> Iterator[SetupFinding]:
    answer = ask_bucket(client, source.bucket, name_bucket(source))
    yield SetupFinding(BUCKET, "ok", f"{source.bucket} is reachable")
    if "date" in answer.headers:
        yield judge_clock(clock.now(), parsedate_to_datetime(answer.headers["date"]))
    region = judge_region("source", answer.region, source.region, client.meta.region_name)
    if region:
        yield region
    versioning = _read_versioning(client, source.bucket)
    yield versioning if isinstance(versioning, SetupFinding) else judge_versioning(versioning)
    if source.clean_source != "off":
        yield from _check_cleaning(client, source, is_versioned=versioning == "Enabled")
    if queue:
        yield from _check_way(client, queue, wanted, None if source.endpoint else answer.region)


def _read_versioning(client: "S3Client", bucket: str) -> str | SetupFinding:
    """Return the bucket's status of versioning, or a finding if it cannot be read."""
    try:
        return client.get_bucket_versioning(Bucket=bucket).get("Status", "off")
    except (BotoCoreError, ClientError) as error:
        return _build_unconfirmed(VERSIONING, error, "s3:GetBucketVersioning")


def _check_cleaning(
    client: "S3Client", source: S3SourceConfig, *, is_versioned: bool
) -> Iterator[SetupFinding]:
    yield judge_cleaning(source, is_versioned=is_versioned)
    if source.clean_source == "move":
        target = source.clean_source_target.partition("/")[0]
        name = "source.clean_source_move_to"
        subject = Subject(f"bucket {target}", name, "allow s3:PutObject and s3:PutObjectTagging there")
        try:
            ask_bucket(client, target, subject)
        except SourceError as error:
            # A right to put objects does not include listing.
            is_unconfirmed = isinstance(error, CredentialsError)
            yield SetupFinding(name, "warning" if is_unconfirmed else "problem", error.message, error.hint)
        else:
            yield SetupFinding(name, "ok", f"{target} is reachable")


def _check_way(
    client: "S3Client", queue: QueueView, wanted: DesiredNotification, bucket_region: str | None
) -> list[SetupFinding]:
    try:
        answer = client.get_bucket_notification_configuration(Bucket=wanted.bucket)
    except (BotoCoreError, ClientError) as error:
        return [_build_unconfirmed(NOTIFICATION, error, "s3:GetBucketNotification")]
    routes = tuple(item.route for item in list_routes(answer))
    return judge_way(routes, queue, wanted, bucket_region)


def _build_unconfirmed(name: str, error: AwsError, right: str) -> SetupFinding:
    fix = (
        f"allow {right} so that headwater can check it"
        if is_denied(error)
        else "the store may not support this request"
    )
    return SetupFinding(name, "warning", f"cannot be checked: {error}", fix)


def _find_reason(client: "S3Client", bucket: str, error: AwsError) -> AwsError:
    """Return the error with its code: the response to a HEAD has no body, only a status."""
    if not isinstance(error, ClientError):
        return error
    try:
        client.list_objects_v2(Bucket=bucket, MaxKeys=1)
    except (BotoCoreError, ClientError) as reason:
        return reason
    return error
