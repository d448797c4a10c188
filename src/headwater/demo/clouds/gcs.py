"""Cloud Storage and Pub/Sub for the demo."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import grpc
from google.api_core import exceptions as api
from google.cloud.storage import Bucket
from google.pubsub_v1 import PublisherClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport

from headwater.demo.google_emulators import PubSubEmulator, StorageEmulator
from headwater.errors import SourceError
from headwater.sources.gcs.clients import build_storage_client, build_subscriber
from headwater.sources.gcs.google_errors import asking
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.cloud.storage import Client
    from google.pubsub_v1 import PubsubMessage, SubscriberClient

PROJECT = "shop"
BUCKET = "shop-landing"
TOPIC = f"projects/{PROJECT}/topics/{BUCKET}"
_SUBSCRIPTION = f"projects/{PROJECT}/subscriptions/{BUCKET}"
_TAP = f"{_SUBSCRIPTION}-tap"
_TAP_PATIENCE_SECONDS = 10
_SUBJECT = Subject("the emulator", "the demo", "")
_SOURCE = """\
  type: gcs
  bucket: {bucket}
  project: {project}
  subscription: {bucket}
  endpoint: {endpoint}
  queue:
    endpoint: {pubsub}
    long_poll_wait: 1
"""


class GcsCloud:
    """A bucket that notifies a topic with two subscriptions: the pipeline's, and our own."""

    scheme = "gs"

    def __init__(
        self, storage: "Client", publisher: PublisherClient, subscriber: "SubscriberClient", source: str
    ) -> None:
        self._publisher = publisher
        self._subscriber = subscriber
        self._messages: dict[str, PubsubMessage] = {}
        self.source = source
        with asking(_SUBJECT):
            self._bucket = Bucket(storage, BUCKET)
            self._bucket.create()

    @property
    def title(self) -> str:
        """See `Cloud`."""
        return f"Emulators of Cloud Storage and Pub/Sub run on this machine; bucket {BUCKET}."

    @property
    def environment(self) -> Mapping[str, str]:
        """See `Cloud`. Emulators need no credentials."""
        return {}

    def put(self, key: str, body: bytes) -> None:
        """See `Cloud`."""
        with asking(_SUBJECT):
            self._bucket.blob(key).upload_from_string(body, content_type="application/octet-stream")

    def remove(self, key: str) -> None:
        """See `Cloud`."""
        with asking(_SUBJECT):
            self._bucket.delete_blob(key)

    def read(self, key: str) -> bytes:
        """See `Cloud`."""
        with asking(_SUBJECT):
            return bytes(self._bucket.blob(key).download_as_bytes(raw_download=True))

    def send_again(self, key: str) -> None:
        """See `Cloud`."""
        deadline = time.monotonic() + _TAP_PATIENCE_SECONDS
        while key not in self._messages and time.monotonic() < deadline:
            self._receive()
        if key not in self._messages:
            raise SourceError(f"the emulator sent no notification for {key!r}")
        message = self._messages[key]
        self._publish(message.data, message.attributes)

    def announce(self, key: str) -> None:
        """See `Cloud`."""
        self._receive()
        message = next(iter(self._messages.values()), None)
        if message is None:
            raise SourceError("the emulator has not sent a notification yet")
        self._publish(b"", {**message.attributes, "objectId": key, "payloadFormat": "NONE"})

    def send(self, text: str) -> None:
        """See `Cloud`."""
        self._publish(text.encode(), {})

    def count_dead_letters(self) -> int:
        """See `Cloud`. There is no dead-letter topic."""
        return 0

    def _publish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        message = {"data": data, "attributes": dict(attributes)}
        with asking(_SUBJECT):
            self._publisher.publish(request={"topic": TOPIC, "messages": [message]})

    def _receive(self) -> None:
        """Keep the bucket's own notifications of created objects, by key."""
        try:
            with asking(_SUBJECT):
                answer = self._subscriber.pull(
                    request={"subscription": _TAP, "max_messages": 1_000}, timeout=1, retry=None
                )
                received = answer.received_messages
                if received:
                    ids = [one.ack_id for one in received]
                    self._subscriber.acknowledge(subscription=_TAP, ack_ids=ids)
        except SourceError as error:
            if isinstance(error.__cause__, api.DeadlineExceeded):
                return
            raise
        for one in received:
            if one.message.attributes.get("eventType") == "OBJECT_FINALIZE":
                self._messages[one.message.attributes["objectId"]] = one.message


@contextmanager
def open_gcs(python: Path, folder: Path) -> Iterator[GcsCloud]:
    """Run both emulators, the storage in the venv of `python`; `folder` gets their logs."""
    with ExitStack() as stack:
        pubsub = stack.enter_context(PubSubEmulator(folder))
        channel = stack.enter_context(grpc.insecure_channel(urlsplit(pubsub.endpoint).netloc))
        publisher = PublisherClient(transport=PublisherGrpcTransport(channel=channel))
        subscriber = stack.enter_context(build_subscriber(pubsub.endpoint))
        with asking(_SUBJECT):
            publisher.create_topic(name=TOPIC)
            for name in (_SUBSCRIPTION, _TAP):
                subscriber.create_subscription(request={"name": name, "topic": TOPIC})
        server = StorageEmulator(python, folder, pubsub=pubsub.endpoint, topic=TOPIC)
        storage = stack.enter_context(server)
        client = stack.enter_context(closing(build_storage_client(storage.endpoint, PROJECT)))
        source = _SOURCE.format(
            bucket=BUCKET, project=PROJECT, endpoint=storage.endpoint, pubsub=pubsub.endpoint
        )
        yield GcsCloud(client, publisher, subscriber, source)
