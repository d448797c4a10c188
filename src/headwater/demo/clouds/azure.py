"""Blobs and a storage queue of Azure for the demo. There is no Event Grid: the demo posts its events."""

import base64
import itertools
import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.config.azure_account import EMULATOR_ACCOUNT
from headwater.config.source import AzureSourceConfig
from headwater.demo.azure_emulator import Azurite
from headwater.errors import SourceError
from headwater.sources.azure.azure_errors import asking
from headwater.sources.azure.clients import build_blob_client, build_queue_client
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from azure.storage.blob import BlobServiceClient
    from azure.storage.queue import QueueClient

CONTAINER = "shop-landing"
QUEUE = "shop-landing-events"
_SUBJECT = Subject("the emulator", "the demo", "")
_TOPIC = f"/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/{EMULATOR_ACCOUNT}"
_SOURCE = """\
  type: azure
  account: {account}
  container: {container}
  endpoint: {blobs}
  queue:
    name: {queue}
    endpoint: {queues}
    long_poll_wait: 1
"""


class AzureCloud:
    """A container and a queue with the events of its blobs. Thread-safe."""

    scheme = "abfs"

    def __init__(self, blobs: "BlobServiceClient", queue: "QueueClient", source: str) -> None:
        self._queue = queue
        self._sequencers = itertools.count(1)
        self._bodies: dict[str, str] = {}
        self._lock = threading.Lock()
        self.source = source
        with asking(_SUBJECT):
            self._container = blobs.create_container(CONTAINER)
            queue.create_queue()

    @property
    def title(self) -> str:
        """See `Cloud`."""
        return f"Azure's blobs and queues run on this machine; container {CONTAINER}."

    @property
    def environment(self) -> Mapping[str, str]:
        """See `Cloud`. The emulator's account and key are published."""
        return {}

    def put(self, key: str, body: bytes) -> None:
        """See `Cloud`."""
        # The sequencer has to grow as the writes do.
        with self._lock, asking(_SUBJECT):
            written = self._container.upload_blob(key, body, overwrite=True)
            found = written.get_blob_properties()
            self._post("BlobCreated", key, api="PutBlob", eTag=found.etag, contentLength=len(body))

    def remove(self, key: str) -> None:
        """See `Cloud`."""
        with self._lock, asking(_SUBJECT):
            self._container.delete_blob(key)
            self._post("BlobDeleted", key, api="DeleteBlob")

    def read(self, key: str) -> bytes:
        """See `Cloud`."""
        with asking(_SUBJECT):
            return self._container.download_blob(key).readall()

    def send_again(self, key: str) -> None:
        """See `Cloud`."""
        if key not in self._bodies:
            raise SourceError(f"the demo has not written {key!r} yet")
        self.send(self._bodies[key])

    def announce(self, key: str) -> None:
        """See `Cloud`."""
        with self._lock, asking(_SUBJECT):
            self._post("BlobCreated", key, api="PutBlob", eTag="0x0", contentLength=1)

    def send(self, text: str) -> None:
        """See `Cloud`."""
        with asking(_SUBJECT):
            self._queue.send_message(encode_message(text))

    def count_dead_letters(self) -> int:
        """See `Cloud`. A storage queue never gives up."""
        return 0

    def _post(self, event: str, key: str, **data: object) -> None:
        body = build_event(CONTAINER, event, key, next(self._sequencers), **data)
        self._bodies[key] = body
        self.send(body)


def build_event(container: str, event: str, key: str, sequencer: int, **data: object) -> str:
    """Return an event of a blob or folder as Event Grid sends it."""
    return json.dumps(
        {
            "topic": _TOPIC,
            "subject": f"/blobServices/default/containers/{container}/blobs/{key}",
            "eventType": f"Microsoft.Storage.{event}",
            "id": str(uuid.uuid4()),
            "eventTime": datetime.now(timezone.utc).isoformat(),
            "data": {"sequencer": f"{sequencer:032x}", **data},
        }
    )


def encode_message(text: str) -> str:
    """Return the text as Event Grid puts it into a storage queue."""
    return base64.b64encode(text.encode()).decode()


@contextmanager
def open_azure(installed: Path, folder: Path) -> Iterator[AzureCloud]:
    """Run the emulator that is installed in a folder; `folder` gets its logs."""
    with Azurite("blob", installed, folder) as blobs, Azurite("queue", installed, folder) as queues:
        text = _SOURCE.format(
            account=EMULATOR_ACCOUNT,
            container=CONTAINER,
            blobs=blobs.account_endpoint,
            queue=QUEUE,
            queues=queues.account_endpoint,
        )
        config = AzureSourceConfig(
            type="azure",
            account=EMULATOR_ACCOUNT,
            container=CONTAINER,
            queue={"name": QUEUE, "endpoint": queues.account_endpoint},
        )
        with (
            closing(build_blob_client(EMULATOR_ACCOUNT, blobs.account_endpoint)) as client,
            closing(build_queue_client(config)) as queue,
        ):
            yield AzureCloud(client, queue, text)
