"""S3 and SQS for the demo."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from headwater.demo.emulator import CREDENTIALS, REGION, Emulator
from headwater.demo.landing_zone import (
    ALL_EVENTS,
    Clients,
    LandingZone,
    build_clients,
    create_landing_zone,
    create_queue,
    find_queue_arn,
)
from headwater.errors import SourceError
from headwater.sources.message_parser import parse_message

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import QueueConfigurationTypeDef

BUCKET = "shop-landing"
MAX_RECEIVES = 5
_TAP_PATIENCE_SECONDS = 10
_SOURCE = """\
  type: s3
  bucket: {bucket}
  region: {region}
  endpoint: {endpoint}
  queue:
    url: {queue_url}
"""


class S3Cloud:
    """A bucket that notifies two queues: the pipeline's, with a dead-letter queue, and our own."""

    scheme = "s3"

    def __init__(self, clients: Clients, endpoint: str) -> None:
        self._clients = clients
        self._endpoint = endpoint
        self._bodies: dict[str, str] = {}
        with _asking():
            self._zone = create_landing_zone(clients, BUCKET)
            self._dead_letters_url = create_queue(clients, f"{BUCKET}-dead-letters")
            self._redrive()
            self._tap_url = create_queue(clients, f"{BUCKET}-tap")
            self._notify((self._zone.queue_url, self._tap_url))

    @property
    def title(self) -> str:
        """See `Cloud`."""
        return f"S3 and SQS run at {self._endpoint}; bucket {self._zone.bucket}."

    @property
    def source(self) -> str:
        """See `Cloud`."""
        return write_source(self._endpoint, self._zone)

    @property
    def environment(self) -> Mapping[str, str]:
        """See `Cloud`."""
        return CREDENTIALS | {"AWS_REGION": REGION}

    def put(self, key: str, body: bytes) -> None:
        """See `Cloud`."""
        with _asking():
            self._clients.s3.put_object(Bucket=self._zone.bucket, Key=key, Body=body)

    def remove(self, key: str) -> None:
        """See `Cloud`."""
        with _asking():
            self._clients.s3.delete_object(Bucket=self._zone.bucket, Key=key)

    def read(self, key: str) -> bytes:
        """See `Cloud`."""
        with _asking():
            return self._clients.s3.get_object(Bucket=self._zone.bucket, Key=key)["Body"].read()

    def send_again(self, key: str) -> None:
        """See `Cloud`."""
        deadline = time.monotonic() + _TAP_PATIENCE_SECONDS
        while key not in self._bodies and time.monotonic() < deadline:
            self._receive()
        if key not in self._bodies:
            raise SourceError(f"the emulator sent no notification for {key!r}")
        self.send(self._bodies[key])

    def announce(self, key: str) -> None:
        """See `Cloud`."""
        self._receive()
        body = next(iter(self._bodies.values()), None)
        if body is None:
            raise SourceError("the emulator has not sent a notification yet")
        self.send(build_notification(body, key))

    def send(self, text: str) -> None:
        """See `Cloud`."""
        with _asking():
            self._clients.sqs.send_message(QueueUrl=self._zone.queue_url, MessageBody=text)

    def count_dead_letters(self) -> int:
        """See `Cloud`."""
        with _asking():
            answer = self._clients.sqs.get_queue_attributes(
                QueueUrl=self._dead_letters_url, AttributeNames=["ApproximateNumberOfMessages"]
            )
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def _redrive(self) -> None:
        policy = {
            "deadLetterTargetArn": find_queue_arn(self._clients, self._dead_letters_url),
            "maxReceiveCount": MAX_RECEIVES,
        }
        self._clients.sqs.set_queue_attributes(
            QueueUrl=self._zone.queue_url, Attributes={"RedrivePolicy": json.dumps(policy)}
        )

    def _notify(self, urls: tuple[str, ...]) -> None:
        arns = [find_queue_arn(self._clients, url) for url in urls]
        queues: list[QueueConfigurationTypeDef] = [
            {"QueueArn": arn, "Events": list(ALL_EVENTS)} for arn in arns
        ]
        self._clients.s3.put_bucket_notification_configuration(
            Bucket=self._zone.bucket, NotificationConfiguration={"QueueConfigurations": queues}
        )

    def _receive(self) -> None:
        """Keep the bodies of the bucket's own notifications, by key."""
        sqs, url = self._clients.sqs, self._tap_url
        with _asking():
            answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            for message in answer.get("Messages", []):
                body = message["Body"]
                self._bodies |= {event.key: body for event in parse_message(body).events}
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


@contextmanager
def _asking() -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise SourceError(f"the emulator rejected a request: {error}") from error


@contextmanager
def open_s3(python: Path, folder: Path) -> Iterator[S3Cloud]:
    """Run the emulator in the venv of `python`; `folder` gets its log and temporary files."""
    with Emulator(python, folder) as emulator, closing(build_clients(emulator.endpoint)) as clients:
        yield S3Cloud(clients, emulator.endpoint)


def write_source(endpoint: str, zone: LandingZone) -> str:
    """Return the `source` section of a bucket and its queue."""
    return _SOURCE.format(bucket=zone.bucket, region=REGION, endpoint=endpoint, queue_url=zone.queue_url)


def build_notification(body: str, key: str) -> str:
    """Return the notification `body` rewritten for `key`, which must need no encoding."""
    message = json.loads(body)
    for record in message["Records"]:
        record["s3"]["object"] |= {"key": key, "eTag": "0" * 32}
    return json.dumps(message)
