"""What a real server cannot be asked for: partial failures, throttling, wrong keys, wrong clocks."""

from collections.abc import Iterator

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError
from botocore.stub import Stubber

from headwater.errors import (
    CredentialsError,
    HeadwaterError,
    QueueNotFoundError,
    SourceError,
    SourceUnavailableError,
)
from headwater.sources.s3.queue import SqsQueue

URL = "https://sqs.eu-west-1.amazonaws.com/1/landing"


class ScriptedQueue:
    """A queue whose answers are written down beforehand, and the pauses it made."""

    def __init__(self) -> None:
        client = boto3.client(
            "sqs", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b"
        )
        self.stub = Stubber(client)
        self.pauses: list[float] = []
        self.queue = SqsQueue(client, URL, sleep=self.pauses.append)

    def expect_delete(self, handles: list[str], failed: dict[int, bool]) -> None:
        """The next call deletes `handles`; of those, entries by place fail, through our fault or not."""
        self.stub.add_response(
            "delete_message_batch",
            {
                "Successful": [],
                "Failed": [
                    {"Id": str(at), "Code": "E", "Message": "no", "SenderFault": fault}
                    for at, fault in failed.items()
                ],
            },
            {
                "QueueUrl": URL,
                "Entries": [{"Id": str(at), "ReceiptHandle": text} for at, text in enumerate(handles)],
            },
        )


@pytest.fixture
def scripted() -> Iterator[ScriptedQueue]:
    scripted = ScriptedQueue()
    with scripted.stub:
        yield scripted
    scripted.stub.assert_no_pending_responses()
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
    scripted.stub.add_client_error("delete_message_batch", "RequestThrottled")
    scripted.expect_delete(["h1"], {})
    assert not scripted.queue.ack({"m1": "h1"})


def test_a_message_id_of_any_shape_can_be_deleted(scripted: ScriptedQueue) -> None:
    scripted.expect_delete(["h"], {})
    assert not scripted.queue.ack({"an id / of another service " * 10: "h"})


def test_in_flight_limit_is_not_an_empty_queue(scripted: ScriptedQueue) -> None:
    scripted.stub.add_client_error("receive_message", "OverLimit", http_status_code=403)
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
    scripted.stub.add_client_error("receive_message", code, message, status)
    with pytest.raises(SourceError) as caught:
        scripted.queue.receive(10, 0)
    assert type(caught.value) is error
    assert hint in caught.value.hint
    assert URL in caught.value.message


@pytest.mark.parametrize(
    ("cause", "error"),
    [
        (NoCredentialsError(), CredentialsError),
        (EndpointConnectionError(endpoint_url="http://nowhere"), SourceUnavailableError),
    ],
)
def test_trouble_before_the_request_has_its_error_too(
    scripted: ScriptedQueue, cause: Exception, error: type[HeadwaterError]
) -> None:
    def fail(**_: object) -> None:
        raise cause

    scripted.stub.client.meta.events.register("provide-client-params.sqs.ReceiveMessage", fail)
    with pytest.raises(error):
        scripted.queue.receive(10, 0)


def test_a_deletion_without_rights_is_raised(scripted: ScriptedQueue) -> None:
    scripted.stub.add_client_error("delete_message_batch", "AccessDenied")
    with pytest.raises(CredentialsError):
        scripted.queue.ack({"m1": "h1"})


def test_release_is_best_effort(scripted: ScriptedQueue) -> None:
    scripted.stub.add_client_error("change_message_visibility_batch", "AccessDenied")
    scripted.queue.release({"m1": "h1"})


def test_only_text_attributes_are_kept(scripted: ScriptedQueue) -> None:
    scripted.stub.add_response(
        "receive_message",
        {
            "Messages": [
                {
                    "MessageId": "m",
                    "ReceiptHandle": "h",
                    "Body": "b",
                    "Attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1767225600000"},
                    "MessageAttributes": {
                        "bucketId": {"StringValue": "landing", "DataType": "String"},
                        "blob": {"BinaryValue": b"x", "DataType": "Binary"},
                    },
                }
            ]
        },
    )
    (message,) = scripted.queue.receive(10, 0)
    assert message.attributes == {"bucketId": "landing"}
    assert message.receive_count == 3
    assert message.sent_at is not None
    assert message.sent_at.isoformat() == "2026-01-01T00:00:00+00:00"
