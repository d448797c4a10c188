"""Judges by a queue's attributes whether notifications can be lost or late; makes no requests."""

import json
from collections.abc import Iterator, Mapping

from headwater.sources.finding import SetupFinding
from headwater.sources.queue import QueueDepth

NAME = "source.queue"

HOUR = 3_600
DAY = 24 * HOUR
MIN_RETENTION = 4 * DAY
# S3 notifications and our own messages fit; SQS's own default is larger.
MIN_MESSAGE_BYTES = 64 * 1024
MIN_RECEIVE_COUNT = 3
MIN_VISIBILITY = 10
# SQS stops delivering at about 120,000.
MANY_IN_FLIGHT = 100_000


def judge_attributes(attributes: Mapping[str, str], visibility_timeout: int) -> list[SetupFinding]:
    """Return findings for the existing attributes; not every compatible service has them all.

    `visibility_timeout` is the configured one, in seconds, which overrides the queue's own.
    """
    return [
        *_judge_type(attributes),
        *_judge_retention(attributes),
        *_judge_message_size(attributes),
        *_judge_redrive(attributes),
        *_judge_encryption(attributes),
        *_judge_delay(attributes),
        _judge_visibility(visibility_timeout),
        *_judge_depth(attributes),
    ]


def _judge_type(attributes: Mapping[str, str]) -> Iterator[SetupFinding]:
    if attributes.get("FifoQueue", "").lower() == "true":
        yield SetupFinding(
            f"{NAME}.type",
            "problem",
            "the queue is a FIFO queue, to which S3 cannot send notifications",
            "create a standard queue and set source.queue.url to it",
        )


def _judge_retention(attributes: Mapping[str, str]) -> Iterator[SetupFinding]:
    seconds = _read_number(attributes, "MessageRetentionPeriod")
    if seconds is None:
        return
    kept = f"messages are kept for {_format_duration(seconds)}"
    if seconds >= MIN_RETENTION:
        yield SetupFinding(f"{NAME}.retention", "ok", kept)
        return
    yield SetupFinding(
        f"{NAME}.retention",
        "problem" if seconds < DAY else "warning",
        f"{kept}; messages not received by then are lost, for example over a weekend",
        "set MessageRetentionPeriod to 1209600 (14 days)",
    )


def _judge_message_size(attributes: Mapping[str, str]) -> Iterator[SetupFinding]:
    size = _read_number(attributes, "MaximumMessageSize")
    if size is not None and size < MIN_MESSAGE_BYTES:
        yield SetupFinding(
            f"{NAME}.message_size",
            "problem",
            f"messages larger than {size} bytes are rejected, and their notifications are lost",
            "set MaximumMessageSize to 262144",
        )


def _judge_redrive(attributes: Mapping[str, str]) -> Iterator[SetupFinding]:
    name = f"{NAME}.redrive"
    text = attributes.get("RedrivePolicy", "")
    if not text:
        yield SetupFinding(
            name,
            "warning",
            "it has no dead-letter queue: a message that crashes the process is redelivered until it expires",
            "set RedrivePolicy to a dead-letter queue with maxReceiveCount 10",
        )
        return
    count = _read_receive_count(text)
    if count is None:
        yield SetupFinding(name, "warning", "its redrive policy cannot be read", "check RedrivePolicy")
    elif count < MIN_RECEIVE_COUNT:
        yield SetupFinding(
            name,
            "problem",
            f"a message goes to the dead-letter queue after {count} receives; one or two crashes are enough "
            "to move valid notifications there",
            "set maxReceiveCount to 10",
        )
    else:
        yield SetupFinding(name, "ok", f"a message goes to the dead-letter queue after {count} receives")


def _judge_encryption(attributes: Mapping[str, str]) -> Iterator[SetupFinding]:
    key = attributes.get("KmsMasterKeyId", "")
    if not key:
        return
    name = f"{NAME}.encryption"
    if key.endswith("alias/aws/sqs"):
        yield SetupFinding(
            name,
            "problem",
            "it is encrypted with alias/aws/sqs; S3 cannot use that key, so it cannot send notifications",
            "use SSE-SQS (SqsManagedSseEnabled=true) or a KMS key of your own",
        )
        return
    yield SetupFinding(
        name,
        "warning",
        f"it is encrypted with KMS key {key}; its attributes do not show whether S3 may use that key",
        "allow s3.amazonaws.com kms:GenerateDataKey and kms:Decrypt in the key policy",
    )


def _judge_delay(attributes: Mapping[str, str]) -> Iterator[SetupFinding]:
    seconds = _read_number(attributes, "DelaySeconds")
    if seconds:
        yield SetupFinding(
            f"{NAME}.delay",
            "warning",
            f"every message is delayed by {seconds} s, and so is the ingestion of its objects",
            "set DelaySeconds to 0",
        )


def _judge_visibility(seconds: int) -> SetupFinding:
    name = f"{NAME}.visibility"
    if seconds >= MIN_VISIBILITY:
        return SetupFinding(
            name, "ok", f"a received message stays hidden for {seconds} s; a heartbeat extends that"
        )
    return SetupFinding(
        name,
        "warning",
        f"a received message stays hidden for only {seconds} s: a pause of the process causes redelivery",
        "set source.queue.visibility_timeout to 30",
    )


def _judge_depth(attributes: Mapping[str, str]) -> Iterator[SetupFinding]:
    visible = _read_number(attributes, "ApproximateNumberOfMessages")
    in_flight = _read_number(attributes, "ApproximateNumberOfMessagesNotVisible")
    if visible is None or in_flight is None:
        return
    depth = QueueDepth(visible, in_flight)
    detail = f"about {depth.visible} messages are waiting, {depth.in_flight} are in flight"
    if depth.in_flight < MANY_IN_FLIGHT:
        yield SetupFinding(f"{NAME}.depth", "ok", detail)
        return
    yield SetupFinding(
        f"{NAME}.depth",
        "warning",
        f"{detail}; SQS stops delivering at about 120000",
        "stop consumers that receive without deleting, or wait for their visibility timeout",
    )


def _read_number(attributes: Mapping[str, str], name: str) -> int | None:
    text = attributes.get(name, "")
    return int(text) if text.isdecimal() else None


def _read_receive_count(text: str) -> int | None:
    try:
        policy = json.loads(text)
        return int(policy["maxReceiveCount"])
    except (ValueError, KeyError, TypeError):
        return None


def _format_duration(seconds: int) -> str:
    if seconds < HOUR:
        return f"{seconds / 60:g} minutes"
    return f"{seconds / HOUR:g} hours" if seconds < 2 * DAY else f"{seconds / DAY:g} days"
