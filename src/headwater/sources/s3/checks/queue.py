"""Checks an SQS queue by its attributes."""

from collections.abc import Mapping
from contextlib import closing

from botocore.exceptions import BotoCoreError, ClientError

from headwater.config.source import S3SourceConfig
from headwater.errors import HeadwaterError
from headwater.sources.finding import SetupFinding, to_finding
from headwater.sources.s3.aws import explain_aws_failure
from headwater.sources.s3.checks.credentials import QUICK
from headwater.sources.s3.judging.queue_attributes import NAME, judge_attributes
from headwater.sources.s3.queue import build_sqs_client, find_queue_url, name_queue
from headwater.sources.s3.resource_names import name_resources


def read_attributes(source: S3SourceConfig) -> Mapping[str, str]:
    """Return all attributes of the source's queue.

    Raises `SourceError` (`QueueNotFoundError`, `CredentialsError`, ...), and `ConfigError` if no region is
    found.
    """
    with closing(build_sqs_client(source, QUICK)) as client:
        url = find_queue_url(client, source)
        try:
            answer = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
        except (BotoCoreError, ClientError) as error:
            raise explain_aws_failure(error, name_queue(url)) from error
    return {str(name): value for name, value in answer.get("Attributes", {}).items()}


def check_queue(source: S3SourceConfig) -> tuple[Mapping[str, str], list[SetupFinding]]:
    """Return the queue's attributes (none if unavailable) and findings. Does not judge its policy."""
    try:
        attributes = read_attributes(source)
    except HeadwaterError as error:
        return {}, [to_finding(NAME, error)]
    there = SetupFinding(NAME, "ok", f"{source.queue.url or name_resources(source)} exists")
    return attributes, [there, *judge_attributes(attributes, source.queue.visibility_timeout)]
