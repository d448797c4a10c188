"""A storage queue whose answers fail on purpose; the real protocol is in the contract tests."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.config.source import S3SourceConfig
from headwater.errors import ConfigError, CredentialsError, QueueNotFoundError
from headwater.sources.azure.queue import AzureQueue, build_azure_queue, decode_text
from tests.fixtures.azure import refuse


class ScriptedClient:
    """Answers requests about each message with the next of its answers, and notes their receipts."""

    queue_name = "events"

    def __init__(self, **answers: list[Exception]) -> None:
        self._answers = answers
        self.receipts: list[str] = []

    def _answer(self, message_id: str, receipt: str) -> None:
        self.receipts.append(receipt)
        if left := self._answers.get(message_id):
            raise left.pop(0)

    def delete_message(self, message_id: str, pop_receipt: str) -> None:
        self._answer(message_id, pop_receipt)

    def update_message(self, message_id: str, pop_receipt: str, visibility_timeout: int) -> Any:
        self._answer(message_id, pop_receipt)
        return SimpleNamespace(pop_receipt=f"{pop_receipt}-{visibility_timeout}")

    def close(self) -> None:
        return


def build(client: ScriptedClient, **options: int) -> AzureQueue:
    untyped: Any = client
    return AzureQueue(untyped, threads=1, sleep=lambda _: None, **options)


def busy() -> Exception:
    return refuse(503, "ServerBusy")


HANDLES = {"m1": "r", "m2": "r"}


def test_a_busy_service_is_asked_again() -> None:
    client = ScriptedClient(m1=[busy(), busy()])
    assert build(client).ack(HANDLES) == {}
    assert len(client.receipts) == 4


def test_what_stays_busy_is_reported_by_message() -> None:
    assert build(ScriptedClient(m2=[busy() for _ in range(4)])).ack(HANDLES) == {"m2": "ServerBusy: refused"}


def test_a_message_that_is_deleted_already_is_deleted() -> None:
    absent = refuse(404, "MessageNotFound")
    assert build(ScriptedClient(m1=[absent])).ack(HANDLES) == {}


def test_a_message_of_another_consumer_is_reported() -> None:
    taken = refuse(400, "PopReceiptMismatch")
    assert build(ScriptedClient(m1=[taken])).ack(HANDLES) == {"m1": "PopReceiptMismatch: refused"}


def test_the_newest_receipt_of_each_message_is_used() -> None:
    client = ScriptedClient()
    queue = build(client)
    queue.extend({"m1": "r"}, 60)
    queue.extend(HANDLES, 90)
    queue.ack(HANDLES)
    # Both messages came with the same receipt.
    assert client.receipts == ["r", "r-60", "r", "r-60-90", "r-90"]


def test_receipts_of_messages_that_never_return_are_forgotten() -> None:
    client = ScriptedClient()
    queue = build(client, max_receipts=2)
    queue.extend({f"m{n}": "r" for n in range(5)}, 60)
    queue.ack({"m0": "r", "m4": "r"})
    assert client.receipts[5:] == ["r", "r-60"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (refuse(404, "QueueNotFound"), QueueNotFoundError),
        (refuse(403, "AuthenticationFailed"), CredentialsError),
    ],
    ids=["queue", "credentials"],
)
def test_an_error_of_all_messages_raises(answer: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected, match="events"):
        build(ScriptedClient(m1=[answer])).ack(HANDLES)


def test_release_raises_nothing() -> None:
    queue = build(ScriptedClient(m1=[refuse(403, "AuthenticationFailed")]))
    queue.release(HANDLES)
    queue.close()
    queue.release(HANDLES)


@pytest.mark.parametrize("body", ['{"a": "ü"}', '[{"a": 1}]', "plain words", "", "=", "abc"])
def test_texts_are_decoded_if_they_are_base64(body: str) -> None:
    assert decode_text(body) == body or body == "abc"
    assert decode_text(base64.b64encode(body.encode()).decode()) == body


def test_base64_of_other_bytes_stays_as_it_is() -> None:
    text = base64.b64encode(b"\xff\xfe{").decode()
    assert decode_text(text) == text


def test_only_azure_sources_have_such_a_queue() -> None:
    with pytest.raises(ConfigError, match="'s3'"):
        build_azure_queue(S3SourceConfig.model_validate({"type": "s3", "bucket": "acme"}))
