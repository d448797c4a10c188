"""The other side of the demo: creates the shop's bucket, and writes to it while the pipeline runs."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from headwater.demo.landing_zone import (
    ALL_EVENTS,
    Clients,
    LandingZone,
    create_landing_zone,
    create_queue,
    find_queue_arn,
)
from headwater.demo.scenario import Announce, Put, Resend, Scenario, SendText, Step
from headwater.errors import SourceError
from headwater.sources.message_parser import parse_message

BUCKET = "shop-landing"
MAX_RECEIVES = 5
_TAP_PATIENCE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class ShopBucket:
    """The landing zone, its dead-letter queue, and a queue to copy notifications from."""

    zone: LandingZone
    dead_letters_url: str
    tap_url: str


def create_shop_bucket(clients: Clients) -> ShopBucket:
    """Create a bucket with notifications to two queues: the pipeline's and our own."""
    zone = create_landing_zone(clients, BUCKET)
    dead_letters_url = create_queue(clients, f"{BUCKET}-dead-letters")
    redrive = {
        "deadLetterTargetArn": find_queue_arn(clients, dead_letters_url),
        "maxReceiveCount": MAX_RECEIVES,
    }
    clients.sqs.set_queue_attributes(
        QueueUrl=zone.queue_url, Attributes={"RedrivePolicy": json.dumps(redrive)}
    )
    tap_url = create_queue(clients, f"{BUCKET}-tap")
    clients.s3.put_bucket_notification_configuration(
        Bucket=zone.bucket,
        NotificationConfiguration={
            "QueueConfigurations": [
                {"QueueArn": find_queue_arn(clients, url), "Events": list(ALL_EVENTS)}
                for url in (zone.queue_url, tap_url)
            ]
        },
    )
    return ShopBucket(zone, dead_letters_url, tap_url)


class Tap:
    """Bodies of the bucket's actual notifications, by key."""

    def __init__(self, clients: Clients, url: str) -> None:
        self._clients = clients
        self._url = url
        self._bodies: dict[str, str] = {}

    def load(self, key: str) -> str:
        """Return the body for `key`. Raises `SourceError` when none arrives."""
        deadline = time.monotonic() + _TAP_PATIENCE_SECONDS
        while key not in self._bodies and time.monotonic() < deadline:
            self._receive()
        try:
            return self._bodies[key]
        except KeyError:
            raise SourceError(f"the emulator sent no notification for {key!r}") from None

    def load_any(self) -> str:
        """Return any body. Raises `SourceError` when nothing was uploaded."""
        self._receive()
        for body in self._bodies.values():
            return body
        raise SourceError("the emulator has not sent a notification yet")

    def _receive(self) -> None:
        answer = self._clients.sqs.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=10, WaitTimeSeconds=1
        )
        for message in answer.get("Messages", []):
            body = message["Body"]
            self._bodies |= {event.key: body for event in parse_message(body).events}
            self._clients.sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])


class Uploader(threading.Thread):
    """Uploads the openers, waits for `open_shop`, then runs the steps at their times; or until `stop`.

    One thread, so that uploads keep the planned order. `failure` is the error that ended it.
    """

    def __init__(
        self,
        clients: Clients,
        shop: ShopBucket,
        scenario: Scenario,
        *,
        stop: threading.Event,
        on_step: Callable[[Step], None],
    ) -> None:
        super().__init__(name="uploads", daemon=True)
        self._clients = clients
        self._shop = shop
        self._scenario = scenario
        self._stop_asked = stop
        self._on_step = on_step
        self._tap = Tap(clients, shop.tap_url)
        self._opened = threading.Event()
        self.failure: SourceError | None = None

    def open_shop(self) -> None:
        """Start the steps; also wakes a thread that is to stop."""
        self._opened.set()

    def run(self) -> None:
        """Run the thread; called by `start`."""
        try:
            for put in self._scenario.openers:
                self._take(put)
            self._opened.wait()
            started = time.monotonic()
            for step in self._scenario.steps:
                if self._stop_asked.wait(max(0.0, started + step.at - time.monotonic())):
                    return
                self._take(step)
        except SourceError as error:
            self.failure = error
        except (BotoCoreError, ClientError) as error:
            self.failure = SourceError(f"the emulator rejected an upload: {error}")

    def _take(self, step: Step) -> None:
        self._act(step)
        self._on_step(step)

    def _act(self, step: Step) -> None:
        if isinstance(step, Put):
            self._clients.s3.put_object(Bucket=self._shop.zone.bucket, Key=step.key, Body=step.body)
        elif isinstance(step, Resend):
            self._send(self._tap.load(step.key))
        elif isinstance(step, Announce):
            self._send(build_notification(self._tap.load_any(), step.key))
        elif isinstance(step, SendText):
            self._send(step.body)

    def _send(self, body: str) -> None:
        self._clients.sqs.send_message(QueueUrl=self._shop.zone.queue_url, MessageBody=body)


def build_notification(body: str, key: str) -> str:
    """Return the notification `body` rewritten for `key`, which must need no encoding."""
    message = json.loads(body)
    for record in message["Records"]:
        record["s3"]["object"] |= {"key": key, "eTag": "0" * 32}
    return json.dumps(message)


def read_uploads(clients: Clients, scenario: Scenario, bucket: str) -> list[tuple[str, bytes]]:
    """Return the bucket's objects as (key, bytes), in upload order."""
    return [
        (put.key, clients.s3.get_object(Bucket=bucket, Key=put.key)["Body"].read()) for put in scenario.puts
    ]
