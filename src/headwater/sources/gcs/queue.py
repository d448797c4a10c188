"""A Pub/Sub subscription: pulled, and acknowledged only after the commit."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from google.api_core import exceptions as api

from headwater.errors import ConfigError, QueueNotFoundError, SourceError
from headwater.sources.gcs.clients import build_subscriber, find_subscription
from headwater.sources.gcs.google_errors import GOOGLE_ERRORS, describe, explain_google_failure, is_busy
from headwater.sources.queue import Message
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from google.pubsub_v1 import ReceivedMessage, SubscriberClient

    from headwater.config.source import SourceConfig

MAX_DEADLINE_SECONDS = 600
# A request may have 512 KiB; an id has about 200 characters.
_MAX_IDS = 1_000
_RETRY_SECONDS = (0.1, 0.2, 0.4)
_TIMEOUT = 30.0
_SHORTEST_SECONDS = 0.2
_PAUSE_SECONDS = 0.05
RIGHTS = "grant roles/pubsub.subscriber on the subscription"

_Send = Callable[[Sequence[str]], None]
_Failures = dict[str, str]


class PubSubQueue:
    """One subscription, through a thread-safe client.

    Each pull is followed by a request that holds the messages for `ack_deadline` seconds, whatever the
    subscription's own deadline. Pub/Sub reports no depth, and counts deliveries only for a subscription with
    a dead-letter topic.
    """

    def __init__(
        self,
        client: "SubscriberClient",
        subscription: str,
        *,
        ack_deadline: int = 30,
        max_messages_per_request: int = 1_000,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._subscription = subscription
        self._ack_deadline = ack_deadline
        self._max_messages = max_messages_per_request
        self._sleep = sleep

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        """See `Queue.receive`. Waits at least 0.2 seconds."""
        request = {
            "subscription": self._subscription,
            "max_messages": max(1, min(max_messages, self._max_messages)),
        }
        deadline = time.monotonic() + max(_SHORTEST_SECONDS, wait_seconds)
        while (left := deadline - time.monotonic()) > 0:
            try:
                answer = self._client.pull(request=request, retry=None, timeout=left)
            except api.DeadlineExceeded:
                break
            except GOOGLE_ERRORS as error:
                raise self._explain(error) from error
            if answer.received_messages:
                received_at = datetime.now(timezone.utc)
                messages = [_to_message(found, received_at) for found in answer.received_messages]
                self._hold(messages)
                return messages
            # The service may answer with nothing at any time.
            self._sleep(_PAUSE_SECONDS)
        return ()

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        """See `Queue.ack`."""

        def acknowledge(ids: Sequence[str]) -> None:
            self._client.acknowledge(
                request={"subscription": self._subscription, "ack_ids": ids}, retry=None, timeout=_TIMEOUT
            )

        return self._send_all(acknowledge, handles)

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        """See `Queue.extend`. At most ten minutes."""
        deadline = max(0, min(seconds, MAX_DEADLINE_SECONDS))

        def modify(ids: Sequence[str]) -> None:
            self._client.modify_ack_deadline(
                request={
                    "subscription": self._subscription,
                    "ack_ids": ids,
                    "ack_deadline_seconds": deadline,
                },
                retry=None,
                timeout=_TIMEOUT,
            )

        return self._send_all(modify, handles)

    def release(self, handles: Mapping[str, str]) -> None:
        """See `Queue.release`."""
        try:
            self.extend(handles, 0)
        except (SourceError, ValueError):  # ValueError: the channel is closed
            return

    def depth(self) -> None:
        """See `Queue.depth`. Only Cloud Monitoring knows it, minutes later."""
        return

    def close(self) -> None:
        """See `Queue.close`."""
        self._client.transport.close()

    def _hold(self, messages: Sequence[Message]) -> None:
        """Hold received messages for `ack_deadline`. A failure means that some may be redelivered early."""
        try:
            self.extend({one.message_id: one.receipt_handle for one in messages}, self._ack_deadline)
        except (SourceError, ValueError):  # ValueError: the channel is closed
            return

    def _send_all(self, send: _Send, handles: Mapping[str, str]) -> _Failures:
        pairs = list(handles.items())
        failed: _Failures = {}
        for at in range(0, len(pairs), _MAX_IDS):
            failed |= self._send(send, dict(pairs[at : at + _MAX_IDS]))
        return failed

    def _send(self, send: _Send, handles: Mapping[str, str]) -> _Failures:
        """Send one request and retry what may succeed; return what failed, by message id."""
        failed: _Failures = {}
        left, reason = dict(handles), ""
        for pause in (*_RETRY_SECONDS, None):
            try:
                send(list(left.values()))
                return failed
            except api.InvalidArgument as error:
                # Pub/Sub refuses a whole request for one malformed id.
                return failed | self._send_halves(send, left, describe(error))
            except GOOGLE_ERRORS as error:
                refused = _find_refused(error)
                if not refused and not is_busy(error):
                    raise self._explain(error) from error
                reason = describe(error)
                if refused:
                    failed |= {key: refused[handle] for key, handle in left.items() if refused.get(handle)}
                    left = {key: handle for key, handle in left.items() if refused.get(handle) == ""}
            if not left or pause is None:
                break
            self._sleep(pause)
        return failed | dict.fromkeys(left, reason)

    def _send_halves(self, send: _Send, handles: Mapping[str, str], reason: str) -> _Failures:
        pairs = list(handles.items())
        if len(pairs) == 1:
            return dict.fromkeys(handles, reason)
        middle = len(pairs) // 2
        return self._send(send, dict(pairs[:middle])) | self._send(send, dict(pairs[middle:]))

    def _explain(self, error: Exception) -> SourceError:
        return explain_google_failure(error, name_subscription(self._subscription), QueueNotFoundError)


def _find_refused(error: Exception) -> dict[str, str]:
    """Return the ids that a subscription with exactly-once delivery refuses, with the reasons.

    The others are done. An empty reason: the same id may succeed later.
    """
    found: dict[str, str] = {}
    for detail in (error.details if isinstance(error, api.GoogleAPICallError) else None) or ():
        for handle, reason in dict(getattr(detail, "metadata", None) or {}).items():
            if reason.startswith("PERMANENT_FAILURE"):
                found[handle] = reason
            elif reason.startswith("TRANSIENT_FAILURE"):
                found[handle] = ""
    return found


def _to_message(found: "ReceivedMessage", received_at: datetime) -> Message:
    message = found.message
    return Message(
        message_id=message.message_id,
        receipt_handle=found.ack_id,
        # Other bytes than UTF-8 make it malformed, and stay visible in the quarantine.
        body=message.data.decode("utf-8", "backslashreplace"),
        received_at=received_at,
        attributes=dict(message.attributes),
        receive_count=found.delivery_attempt or 1,
        sent_at=message.publish_time,
    )


def name_subscription(name: str) -> Subject:
    """Return the subscription's name for error messages."""
    return Subject(f"subscription {name}", "source.subscription", RIGHTS)


def build_pubsub_queue(source: "SourceConfig") -> PubSubQueue:
    """Build the queue of a source in Google Cloud.

    Raises `ConfigError` if no project is found, and `CredentialsError`.
    """
    if source.type != "gcs":
        raise ConfigError(f"a source of type {source.type!r} has no subscription")
    config = source.queue
    return PubSubQueue(
        build_subscriber(config.endpoint),
        find_subscription(source),
        ack_deadline=config.ack_deadline,
        max_messages_per_request=config.max_messages_per_request,
    )
