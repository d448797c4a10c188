"""A storage queue with the events of Event Grid. Its messages are deleted only after the commit."""

import base64
import binascii
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from azure.core import exceptions as core

from headwater.errors import ConfigError, QueueNotFoundError, SourceError
from headwater.sources.azure.azure_errors import (
    AzureError,
    describe,
    explain_azure_failure,
    is_busy,
    is_rejected,
    read_code,
)
from headwater.sources.azure.clients import build_queue_client
from headwater.sources.queue import Message, QueueDepth
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from azure.storage.queue import QueueClient, QueueMessage

    from headwater.config.source import SourceConfig

_MAX_MESSAGES = 32
_MAX_VISIBILITY_SECONDS = 7 * 86_400
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = (0.1, 0.2, 0.4)
_DONE = "MessageNotFound"
RIGHTS = "assign the role Storage Queue Data Message Processor"

_Failures = dict[str, str]


class AzureQueue:
    """One storage queue, through a thread-safe client.

    A request deletes or extends one message, so `threads` of them run at a time. There is no long poll: the
    queue is asked again after a pause. Each extension replaces a message's pop receipt, so the queue keeps
    the newest one of each receipt handle.
    """

    def __init__(
        self,
        client: "QueueClient",
        *,
        visibility_timeout: int = 30,
        max_messages_per_request: int = _MAX_MESSAGES,
        threads: int = 16,
        max_receipts: int = 200_000,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._visibility_timeout = visibility_timeout
        self._max_messages = min(_MAX_MESSAGES, max_messages_per_request)
        self._max_receipts = max_receipts
        self._sleep = sleep
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="storage-queue")
        self._renewed: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        """See `Queue.receive`. Asks at once, then after growing pauses of up to a second."""
        deadline = time.monotonic() + wait_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            if found := self._receive_now(max(1, min(max_messages, self._max_messages))):
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                return ()
            self._sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        """See `Queue.ack`."""

        def delete(message_id: str, handle: str) -> None:
            try:
                self._client.delete_message(message_id, pop_receipt=self._find_receipt(message_id, handle))
            except core.ResourceNotFoundError as error:
                # Deleted by a request whose answer was lost.
                if read_code(error) != _DONE:
                    raise
            self._forget(message_id, handle)

        return self._send_all(delete, handles)

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        """See `Queue.extend`. At most seven days."""
        timeout = max(0, min(seconds, _MAX_VISIBILITY_SECONDS))

        def update(message_id: str, handle: str) -> None:
            receipt = self._find_receipt(message_id, handle)
            changed = self._client.update_message(message_id, pop_receipt=receipt, visibility_timeout=timeout)
            self._keep(message_id, handle, changed.pop_receipt or receipt)

        return self._send_all(update, handles)

    def release(self, handles: Mapping[str, str]) -> None:
        """See `Queue.release`."""
        try:
            self.extend(handles, 0)
        except (SourceError, RuntimeError):  # RuntimeError: the queue is closed
            return

    def depth(self) -> QueueDepth:
        """See `Queue.depth`. The service counts messages at consumers among those that wait."""
        try:
            found = self._client.get_queue_properties()
        except AzureError as error:
            raise self._explain(error) from error
        return QueueDepth(found.approximate_message_count or 0, 0)

    def close(self) -> None:
        """See `Queue.close`."""
        self._executor.shutdown(cancel_futures=True)
        self._client.close()

    def _receive_now(self, count: int) -> list[Message]:
        try:
            pages = self._client.receive_messages(
                messages_per_page=count, visibility_timeout=self._visibility_timeout
            ).by_page()
            found = list(next(pages, ()))
        except AzureError as error:
            raise self._explain(error) from error
        received_at = datetime.now(timezone.utc)
        return [_to_message(one, received_at) for one in found]

    def _send_all(self, send: Callable[[str, str], None], handles: Mapping[str, str]) -> _Failures:
        """Send one request for each message; return what failed, by message id.

        Raises `SourceError` for an error that concerns all of them.
        """
        if not handles:
            return {}

        def send_one(pair: tuple[str, str]) -> tuple[str, str]:
            return pair[0], self._send(send, *pair)

        done = list(self._executor.map(send_one, handles.items()))
        return {message_id: reason for message_id, reason in done if reason}

    def _send(self, send: Callable[[str, str], None], message_id: str, handle: str) -> str:
        """Return why the request failed, after retries; empty if it did not."""
        for pause in (*_RETRY_SECONDS, None):
            try:
                send(message_id, handle)
            except AzureError as error:
                if is_rejected(error) or read_code(error) == "QueueNotFound":
                    raise self._explain(error) from error
                if pause is None or not is_busy(error):
                    return describe(error)
                self._sleep(pause)
            else:
                return ""
        return ""

    def _find_receipt(self, message_id: str, handle: str) -> str:
        # Messages of one answer can have the same receipt.
        with self._lock:
            return self._renewed.get((message_id, handle), handle)

    def _keep(self, message_id: str, handle: str, receipt: str) -> None:
        with self._lock:
            self._renewed[message_id, handle] = receipt
            # Those of messages that another consumer has received since are never asked for again.
            while len(self._renewed) > self._max_receipts:
                self._renewed.popitem(last=False)

    def _forget(self, message_id: str, handle: str) -> None:
        with self._lock:
            self._renewed.pop((message_id, handle), None)

    def _explain(self, error: Exception) -> SourceError:
        return explain_azure_failure(error, name_queue(self._client.queue_name), QueueNotFoundError)


def _to_message(found: "QueueMessage", received_at: datetime) -> Message:
    return Message(
        message_id=found.id,
        receipt_handle=found.pop_receipt or "",
        body=decode_text(found.content or ""),
        received_at=received_at,
        receive_count=found.dequeue_count or 1,
        sent_at=found.inserted_on,
    )


def decode_text(text: str) -> str:
    """Return the text of a message. Event Grid encodes it as Base64; other senders need not.

    Other bytes than UTF-8 stay as they are: the message is malformed, and visible in the quarantine.
    """
    if text.lstrip().startswith(("{", "[")):
        return text
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return text


def name_queue(name: str) -> Subject:
    """Return the queue's name for error messages."""
    return Subject(f"queue {name}", "source.queue.name", RIGHTS)


def build_azure_queue(source: "SourceConfig") -> AzureQueue:
    """Build the queue of a source in Azure. Opens no connection."""
    if source.type != "azure":
        raise ConfigError(f"a source of type {source.type!r} has no storage queue")
    config = source.queue
    return AzureQueue(
        build_queue_client(source),
        visibility_timeout=config.visibility_timeout,
        max_messages_per_request=config.max_messages_per_request,
    )
