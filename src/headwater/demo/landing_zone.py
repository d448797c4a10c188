"""A bucket that notifies a queue of its objects, created on an emulator."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from headwater.demo.emulator import CREDENTIALS, REGION

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.literals import EventType
    from mypy_boto3_sqs.client import SQSClient

ALL_EVENTS: "Sequence[EventType]" = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients of one endpoint; thread-safe."""

    s3: "S3Client"
    sqs: "SQSClient"

    def close(self) -> None:
        """Close connections."""
        self.s3.close()
        self.sqs.close()


@dataclass(frozen=True, slots=True)
class LandingZone:
    """A bucket and the queue that receives its notifications."""

    bucket: str
    queue_url: str


def build_clients(endpoint: str, connections: int = 16) -> Clients:
    """Create clients for an emulator at `endpoint`."""
    session = boto3.session.Session(
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
    )
    config = Config(
        max_pool_connections=connections,
        s3={"addressing_style": "path"},
        retries={"mode": "standard", "total_max_attempts": 3},
    )
    return Clients(
        session.client("s3", endpoint_url=endpoint, config=config),
        session.client("sqs", endpoint_url=endpoint, config=config),
    )


def create_queue(clients: Clients, name: str, visibility_seconds: int = 30) -> str:
    """Create a queue that S3 may send to; return its URL."""
    url = clients.sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": str(visibility_seconds)})[
        "QueueUrl"
    ]
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "s3.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": find_queue_arn(clients, url),
            }
        ],
    }
    clients.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy)})
    return url


def find_queue_arn(clients: Clients, url: str) -> str:
    """Return the ARN of a queue."""
    answer = clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return answer["Attributes"]["QueueArn"]


def create_landing_zone(
    clients: Clients, bucket: str, *, queue_name: str | None = None, versioned: bool = False
) -> LandingZone:
    """Create a bucket and a queue, with notifications of all created and removed objects."""
    clients.s3.create_bucket(Bucket=bucket)
    if versioned:
        clients.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    queue_url = create_queue(clients, queue_name or f"{bucket}-events")
    clients.s3.put_bucket_notification_configuration(
        Bucket=bucket,
        NotificationConfiguration={
            "QueueConfigurations": [
                {"QueueArn": find_queue_arn(clients, queue_url), "Events": list(ALL_EVENTS)}
            ]
        },
    )
    return LandingZone(bucket, queue_url)
