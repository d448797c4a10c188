"""Amazon SQS and compatible services."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore import exceptions as boto
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headwater.errors import ConfigError, QueueNotFoundError, SourceError
from headwater.sources.queue import Message, QueueDepth
from headwater.sources.s3.access import Access, open_session
from headwater.sources.s3.aws import FALLBACK_REGION, AwsError, error_code, explain_aws_failure
from headwater.sources.s3.resource_names import name_resources
from headwater.sources.s3.signed_http import SignedHttp
from headwater.sources.s3.sqs_protocol import SqsCall, build_sqs_call
from headwater.sources.subject import Subject

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

    from headwater.config.source import QueueConfig, S3SourceConfig, SourceConfig

MAX_BATCH = 10
MAX_LONG_POLL_SECONDS = 20
RETRY_SECONDS = (0.1, 0.2, 0.4)
OVER_LIMIT_PAUSE_SECONDS = 1.0
_VISIBLE = "ApproximateNumberOfMessages"
_IN_FLIGHT = "ApproximateNumberOfMessagesNotVisible"
# sqs.eu-central-1.amazonaws.com, eu-central-1.queue.amazonaws.com, queue.amazonaws.com
_AWS_HOST = re.compile(r"^(?:sqs(?:-fips)?\.([a-z0-9-]+)|(?:([a-z0-9-]+)\.)?queue)\.amazonaws\.com(?:\.cn)?$")

_RIGHTS = (
    "allow sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility, sqs:GetQueueAttributes and "
    "sqs:GetQueueUrl on the queue, and kms:Decrypt on its key (`headwater plan --policies`: role ingest)"
)

_Failures = dict[str, str]
_Entries = Sequence[Mapping[str, Any]]
_SendBatch = Callable[[Sequence[tuple[str, str]]], _Entries]


class SqsQueue:
    """One queue, through a thread-safe `call`.

    `over_limit_count` counts how often SQS returned no messages because too many are undeleted; to the
    caller that looks like an empty queue.
    """

    def __init__(
        self,
        call: SqsCall,
        url: str,
        *,
        visibility_timeout: int = 30,
        max_messages_per_request: int = MAX_BATCH,
        threads: int = 4,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._call = call
        self._url = url
        # A message that is never hidden would be redelivered until it is deleted.
        self._visibility_timeout = max(1, visibility_timeout)
        self._max_messages = min(max_messages_per_request, MAX_BATCH)
        self._sleep = sleep
        # Two pools: a heartbeat must not wait for thousands of deletions.
        self._ack_pool = ThreadPoolExecutor(threads, thread_name_prefix="sqs-ack")
        self._extend_pool = ThreadPoolExecutor(threads, thread_name_prefix="sqs-extend")
        self.over_limit_count = 0

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        """See `Queue.receive`. Waits whole seconds, at most 20."""
        try:
            answer = self._call(
                "ReceiveMessage",
                {
                    "QueueUrl": self._url,
                    "MaxNumberOfMessages": max(1, min(max_messages, self._max_messages)),
                    "WaitTimeSeconds": max(0, min(int(wait_seconds), MAX_LONG_POLL_SECONDS)),
                    "VisibilityTimeout": self._visibility_timeout,
                    # Some SQS-compatible stores do not support the parameter that replaces it.
                    "AttributeNames": ["ApproximateReceiveCount", "SentTimestamp"],
                    "MessageAttributeNames": ["All"],
                },
            )
        except (BotoCoreError, ClientError) as error:
            if _is_over_limit(error):
                self.over_limit_count += 1
                self._sleep(min(wait_seconds, OVER_LIMIT_PAUSE_SECONDS))
                return ()
            raise _to_source_error(error, self._url) from error
        received_at = datetime.now(timezone.utc)
        return [_to_message(message, received_at) for message in answer.get("Messages") or ()]

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        """See `Queue.ack`."""
        return self._send_all(self._ack_pool, self._delete, handles)

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        """See `Queue.extend`."""
        return self._send_all(self._extend_pool, lambda batch: self._hide(batch, seconds), handles)

    def release(self, handles: Mapping[str, str]) -> None:
        """See `Queue.release`."""
        try:
            self._send_all(self._extend_pool, lambda batch: self._hide(batch, 0), handles)
        except (SourceError, RuntimeError):  # RuntimeError: the pool is shut down
            return

    def depth(self) -> QueueDepth:
        """See `Queue.depth`."""
        try:
            answer = self._call(
                "GetQueueAttributes",
                {"QueueUrl": self._url, "AttributeNames": [_VISIBLE, _IN_FLIGHT]},
            )
        except (BotoCoreError, ClientError) as error:
            raise _to_source_error(error, self._url) from error
        found = answer["Attributes"]
        return QueueDepth(int(found[_VISIBLE]), int(found[_IN_FLIGHT]))

    def close(self) -> None:
        """See `Queue.close`."""
        self._ack_pool.shutdown(wait=True)
        self._extend_pool.shutdown(wait=True)

    def _delete(self, batch: Sequence[tuple[str, str]]) -> _Entries:
        entries = [{"Id": entry_id, "ReceiptHandle": handle} for entry_id, handle in batch]
        return self._send_entries("DeleteMessageBatch", entries)

    def _hide(self, batch: Sequence[tuple[str, str]], seconds: int) -> _Entries:
        entries = [
            {"Id": entry_id, "ReceiptHandle": handle, "VisibilityTimeout": seconds}
            for entry_id, handle in batch
        ]
        return self._send_entries("ChangeMessageVisibilityBatch", entries)

    def _send_entries(self, operation: str, entries: _Entries) -> _Entries:
        """Return the entries that SQS refused."""
        answer = self._call(operation, {"QueueUrl": self._url, "Entries": entries})
        return answer.get("Failed") or ()

    def _send_all(self, pool: ThreadPoolExecutor, send: _SendBatch, handles: Mapping[str, str]) -> _Failures:
        pairs = list(handles.items())
        batches = [pairs[at : at + MAX_BATCH] for at in range(0, len(pairs), MAX_BATCH)]
        if len(batches) < 2:
            return self._send(send, batches[0]) if batches else {}
        failed: _Failures = {}
        for part in pool.map(lambda batch: self._send(send, batch), batches):
            failed.update(part)
        return failed

    def _send(self, send: _SendBatch, batch: Sequence[tuple[str, str]]) -> _Failures:
        """Send one batch and retry transient failures; return what still failed."""
        failed, left = self._send_once(send, batch)
        for pause in RETRY_SECONDS:
            if not left:
                break
            self._sleep(pause)
            refused, left = self._send_once(send, [pair for pair in batch if pair[0] in left])
            failed.update(refused)
        return {**failed, **left}

    def _send_once(self, send: _SendBatch, batch: Sequence[tuple[str, str]]) -> tuple[_Failures, _Failures]:
        """Return permanent failures and retryable ones: reasons by message id."""
        try:
            # Ids local to the batch: another service's message ids may be invalid in SQS.
            entries = send([(str(at), handle) for at, (_, handle) in enumerate(batch)])
        except (BotoCoreError, ClientError) as error:
            mapped = _to_source_error(error, self._url)
            if not mapped.retryable:
                raise mapped from error
            return {}, {message_id: mapped.message for message_id, _ in batch}
        refused: _Failures = {}
        left: _Failures = {}
        for entry in entries:
            reason = f"{entry.get('Code', '')}: {entry.get('Message', '')}"
            (refused if entry.get("SenderFault") else left)[batch[int(entry["Id"])][0]] = reason
        return refused, left


def _to_message(message: Mapping[str, Any], received_at: datetime) -> Message:
    system = message.get("Attributes") or {}
    own = message.get("MessageAttributes") or {}
    sent = system.get("SentTimestamp")
    return Message(
        message_id=message.get("MessageId", ""),
        receipt_handle=message.get("ReceiptHandle", ""),
        body=message.get("Body", ""),
        received_at=received_at,
        attributes={name: value["StringValue"] for name, value in own.items() if "StringValue" in value},
        receive_count=int(system.get("ApproximateReceiveCount", "1")),
        sent_at=datetime.fromtimestamp(int(sent) / 1000, timezone.utc) if sent else None,
    )


def _is_over_limit(error: BotoCoreError | ClientError) -> bool:
    return isinstance(error, ClientError) and error_code(error) == "OverLimit"


def _to_source_error(error: AwsError, url: str) -> SourceError:
    return explain_aws_failure(error, name_queue(url))


def name_queue(name: str) -> Subject:
    """Return the queue's name for error messages, given its URL or name."""
    return Subject(f"queue {name}", "source.queue", _RIGHTS)


def find_endpoint(queue: "QueueConfig") -> tuple[str | None, str | None]:
    """Return endpoint and region of a queue, each None if AWS's own chain decides."""
    if queue.url is None:
        return queue.endpoint, queue.region
    parts = urlsplit(queue.url)
    aws = _AWS_HOST.match(parts.hostname or "")
    region = queue.region or (aws and (aws.group(1) or aws.group(2))) or None
    if aws:
        return queue.endpoint, region
    return queue.endpoint or f"{parts.scheme}://{parts.netloc}", region


def find_queue_endpoint(source: "S3SourceConfig") -> tuple[str | None, str | None]:
    """Return endpoint and region of the queue and related resources, each None as in `find_endpoint`.

    A queue without a URL is expected in the region of the bucket.
    """
    endpoint, region = find_endpoint(source.queue)
    if source.queue.url is None:
        endpoint = endpoint or source.endpoint
    return endpoint, region or source.region


def build_sqs_client(
    source: "S3SourceConfig", config: Config, core: botocore.session.Session | None = None
) -> "SQSClient":
    """Build a client for the queue of a source. Raises `ConfigError` if no region is found."""
    name = source.queue.url or name_resources(source)
    endpoint, region = find_queue_endpoint(source)
    try:
        session = boto3.session.Session(botocore_session=core or open_session(Access.of(source)))
        return session.client(
            "sqs",
            region_name=region or session.region_name or (FALLBACK_REGION if endpoint else None),
            endpoint_url=endpoint,
            config=config,
        )
    except boto.NoRegionError as error:
        raise ConfigError(
            f"no region for queue {name}",
            hint="set source.queue.region, source.region or AWS_REGION",
        ) from error
    except boto.ProfileNotFound as error:
        raise explain_aws_failure(error, name_queue(name)) from error
    except (BotoCoreError, ValueError) as error:
        raise ConfigError(f"queue {name}: {error}", hint="check source.queue.endpoint") from error


def find_queue_url(client: "SQSClient", source: "S3SourceConfig") -> str:
    """Return the configured URL, else that of the queue which `headwater up` creates.

    Raises `QueueNotFoundError` if there is none by that name, and the errors of `explain_aws_failure`.
    """
    if source.queue.url:
        return source.queue.url
    name = name_resources(source)
    try:
        return client.get_queue_url(QueueName=name)["QueueUrl"]
    except (BotoCoreError, ClientError) as error:
        reason = _to_source_error(error, name)
        if isinstance(reason, QueueNotFoundError):
            hint = (
                f"check source.bucket ({source.bucket}); `headwater up` creates its queue. If the queue has "
                "another name, set source.queue.url"
            )
            raise QueueNotFoundError(f"there is no queue {name}", hint=hint) from error
        raise reason from error


def build_sqs_queue(source: "SourceConfig") -> SqsQueue:
    """Build the queue of an S3 source.

    Raises `ConfigError` if no region is found, and the errors of `find_queue_url`.
    """
    if source.type != "s3":
        raise ConfigError(f"a source of type {source.type!r} has no SQS queue")
    queue = source.queue
    core = open_session(Access.of(source))
    config = Config(retries={"mode": "standard", "total_max_attempts": 5}, connect_timeout=5)
    with closing(build_sqs_client(source, config, core)) as client:
        url = find_queue_url(client, source)
        call = build_call(client, core)
    return SqsQueue(
        call,
        url,
        visibility_timeout=queue.visibility_timeout,
        max_messages_per_request=queue.max_messages_per_request,
        threads=max(2, queue.receivers // 2),
    )


def build_call(client: "SQSClient", core: botocore.session.Session) -> SqsCall:
    """Return calls with the client's region and endpoint, and the session's credentials."""
    # A long poll may be silent for as long as it waits.
    http = SignedHttp(core, "sqs", client.meta.region_name, silent_seconds=MAX_LONG_POLL_SECONDS + 10)
    return build_sqs_call(http, client.meta.endpoint_url)
