"""What a real server cannot be asked for: partial failures, throttling, wrong keys, wrong clocks."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from headwater.errors import (
    CredentialsError,
    HeadwaterError,
    QueueNotFoundError,
    SourceError,
    SourceUnavailableError,
)
from headwater.sources.s3.queue import SqsQueue
from headwater.sources.s3.signed_http import NoAnswerError

URL = "https://sqs.eu-west-1.amazonaws.com/1/landing"


class ScriptedQueue:
    """A queue whose answers are written down beforehand, and the pauses it made."""

    def __init__(self) -> None:
        self.script: list[tuple[str, Mapping[str, object] | None, Mapping[str, Any] | Exception]] = []
        self.pauses: list[float] = []
        self.queue = SqsQueue(self._call, URL, sleep=self.pauses.append)

    def _call(self, operation: str, request: Mapping[str, object]) -> dict[str, Any]:
        expected, with_request, answer = self.script.pop(0)
        assert operation == expected
        assert with_request in (None, request)
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    def expect_delete(self, handles: list[str], failed: dict[int, bool]) -> None:
        """The next call deletes `handles`; of those, entries by place fail, through our fault or not."""
        entries = [{"Id": str(at), "ReceiptHandle": text} for at, text in enumerate(handles)]
        refused = [
            {"Id": str(at), "Code": "E", "Message": "no", "SenderFault": fault}
            for at, fault in failed.items()
        ]
        answer = {"Successful": [], "Failed": refused}
        self.script.append(("DeleteMessageBatch", {"QueueUrl": URL, "Entries": entries}, answer))

    def expect_failure(self, operation: str, code: str, message: str = "", status: int = 400) -> None:
        """SQS refuses the next call."""
        fields: Any = {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }
        self.script.append((operation, None, ClientError(fields, operation)))


@pytest.fixture
def scripted() -> Iterator[ScriptedQueue]:
    scripted = ScriptedQueue()
    yield scripted
    assert not scripted.script
    scripted.queue.close()


def test_only_failed_deletions_are_retried(scripted: ScriptedQueue) -> None:
    scripted.expect_delete(["h1", "h2", "h3"], {1: False, 2: False})
    scripted.expect_delete(["h2", "h3"], {1: False})
    scripted.expect_delete(["h3"], {})
    assert not scripted.queue.ack({"m1": "h1", "m2": "h2", "m3": "h3"})
    assert scripted.pauses == [0.1, 0.2]


def test_deletion_failing_four_times_is_reported(scripted: ScriptedQueue) -> None:
    for _ in range(4):
        scripted.expect_delete(["h1"], {0: False})
    assert scripted.queue.ack({"m1": "h1"}) == {"m1": "E: no"}
    assert scripted.pauses == [0.1, 0.2, 0.4]


def test_a_fault_of_ours_is_reported_without_another_try(scripted: ScriptedQueue) -> None:
    scripted.expect_delete(["h1", "h2"], {0: True, 1: False})
    scripted.expect_delete(["h2"], {})
    assert scripted.queue.ack({"m1": "h1", "m2": "h2"}) == {"m1": "E: no"}


def test_a_throttled_deletion_is_tried_again(scripted: ScriptedQueue) -> None:
    scripted.expect_failure("DeleteMessageBatch", "RequestThrottled")
    scripted.expect_delete(["h1"], {})
    assert not scripted.queue.ack({"m1": "h1"})


def test_a_message_id_of_any_shape_can_be_deleted(scripted: ScriptedQueue) -> None:
    scripted.expect_delete(["h"], {})
    assert not scripted.queue.ack({"an id / of another service " * 10: "h"})


def test_in_flight_limit_is_not_an_empty_queue(scripted: ScriptedQueue) -> None:
    scripted.expect_failure("ReceiveMessage", "OverLimit", status=403)
    assert not scripted.queue.receive(10, 20)
    assert scripted.queue.over_limit_count == 1
    assert scripted.pauses == [1.0]


@pytest.mark.parametrize(
    ("code", "message", "status", "error", "hint"),
    [
        ("QueueDoesNotExist", "", 400, QueueNotFoundError, "region"),
        ("AWS.SimpleQueueService.NonExistentQueue", "", 400, QueueNotFoundError, "account"),
        ("RequestTimeTooSkewed", "", 403, CredentialsError, "clock"),
        (
            "InvalidSignatureException",
            "Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z",
            403,
            CredentialsError,
            "clock",
        ),
        ("SignatureDoesNotMatch", "", 403, CredentialsError, "secret key"),
        ("ExpiredToken", "", 400, CredentialsError, "log in"),
        ("InvalidClientTokenId", "", 403, CredentialsError, "access key"),
        ("AccessDenied", "", 403, CredentialsError, "sqs:ReceiveMessage"),
        ("RequestThrottled", "", 400, SourceUnavailableError, "retried"),
        ("Whatever", "", 503, SourceUnavailableError, "retried"),
        ("Whatever", "", 400, SourceError, "source.queue"),
    ],
)
def test_each_failure_has_its_error_and_next_step(
    scripted: ScriptedQueue, code: str, message: str, status: int, error: type[HeadwaterError], hint: str
) -> None:
    scripted.expect_failure("ReceiveMessage", code, message, status)
    with pytest.raises(SourceError) as caught:
        scripted.queue.receive(10, 0)
    assert type(caught.value) is error
    assert hint in caught.value.hint
    assert URL in caught.value.message


@pytest.mark.parametrize(
    ("cause", "error"),
    [
        (NoCredentialsError(), CredentialsError),
        (NoAnswerError(error="Could not connect to server"), SourceUnavailableError),
    ],
)
def test_trouble_before_the_request_has_its_error_too(
    scripted: ScriptedQueue, cause: Exception, error: type[HeadwaterError]
) -> None:
    scripted.script.append(("ReceiveMessage", None, cause))
    with pytest.raises(error):
        scripted.queue.receive(10, 0)


def test_a_deletion_without_rights_is_raised(scripted: ScriptedQueue) -> None:
    scripted.expect_failure("DeleteMessageBatch", "AccessDenied")
    with pytest.raises(CredentialsError):
        scripted.queue.ack({"m1": "h1"})


def test_release_is_best_effort(scripted: ScriptedQueue) -> None:
    scripted.expect_failure("ChangeMessageVisibilityBatch", "AccessDenied")
    scripted.queue.release({"m1": "h1"})


def test_only_text_attributes_are_kept(scripted: ScriptedQueue) -> None:
    delivery = {
        "MessageId": "m",
        "ReceiptHandle": "h",
        "Body": "b",
        "Attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1767225600000"},
        "MessageAttributes": {
            "bucketId": {"StringValue": "landing", "DataType": "String"},
            "blob": {"BinaryValue": "eA==", "DataType": "Binary"},
        },
    }
    scripted.script.append(("ReceiveMessage", None, {"Messages": [delivery]}))
    (message,) = scripted.queue.receive(10, 0)
    assert message.attributes == {"bucketId": "landing"}
    assert message.receive_count == 3
    assert message.sent_at is not None
    assert message.sent_at.isoformat() == "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize("answer", [{}, {"Messages": None}, {"Messages": []}])
def test_no_messages_are_written_in_any_way(scripted: ScriptedQueue, answer: Mapping[str, Any]) -> None:
    scripted.script.append(("ReceiveMessage", None, answer))
    assert scripted.queue.receive(10, 0) == []


def test_no_refused_deletions_are_written_in_any_way(scripted: ScriptedQueue) -> None:
    scripted.script.append(("DeleteMessageBatch", None, {"Successful": [], "Failed": None}))
    assert scripted.queue.ack({"m1": "h1"}) == {}
