"""A subscription whose answers fail on purpose; the real protocol is in the contract tests."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from google.api_core import exceptions as api

from headwater.config.source import GcsSourceConfig, S3SourceConfig
from headwater.errors import ConfigError, CredentialsError, QueueNotFoundError, SourceUnavailableError
from headwater.sources.gcs.queue import PubSubQueue, build_pubsub_queue

NAME = "projects/acme/subscriptions/landing"


class ScriptedClient:
    """Answers each acknowledgement with the next of its answers, and notes what was asked."""

    def __init__(self, *answers: Exception | None) -> None:
        self._answers = list(answers)
        self.asked: list[list[str]] = []
        self.deadlines: list[int] = []

    def _answer(self, ids: Sequence[str]) -> None:
        self.asked.append(list(ids))
        answer = self._answers.pop(0) if self._answers else None
        if answer is not None:
            raise answer

    def acknowledge(self, request: dict[str, Any], **_: object) -> None:
        self._answer(request["ack_ids"])

    def modify_ack_deadline(self, request: dict[str, Any], **_: object) -> None:
        self.deadlines.append(request["ack_deadline_seconds"])
        self._answer(request["ack_ids"])

    def pull(self, **_: object) -> Any:
        raise self._answers.pop(0) or AssertionError


def build(client: ScriptedClient) -> PubSubQueue:
    untyped: Any = client
    return PubSubQueue(untyped, NAME, sleep=lambda _: None)


def refuse(**reasons: str) -> api.GoogleAPICallError:
    """The answer of a subscription with exactly-once delivery."""
    return api.FailedPrecondition("some failed", details=[SimpleNamespace(metadata=reasons)])


HANDLES = {"m1": "a1", "m2": "a2", "m3": "a3"}


def test_a_busy_service_is_asked_again() -> None:
    client = ScriptedClient(api.ServiceUnavailable("busy"), api.Aborted("again"))
    assert build(client).ack(HANDLES) == {}
    assert client.asked == [["a1", "a2", "a3"]] * 3


def test_what_stays_busy_is_reported_by_message() -> None:
    client = ScriptedClient(*[api.ServiceUnavailable("busy")] * 4)
    assert build(client).ack(HANDLES) == dict.fromkeys(HANDLES, "busy")


def test_exactly_once_delivery_names_what_failed_and_the_rest_is_done() -> None:
    client = ScriptedClient(
        refuse(a1="PERMANENT_FAILURE_INVALID_ACK_ID", a2="TRANSIENT_FAILURE_UNORDERED_ACK_ID")
    )
    assert build(client).ack(HANDLES) == {"m1": "PERMANENT_FAILURE_INVALID_ACK_ID"}
    assert client.asked == [["a1", "a2", "a3"], ["a2"]]


def test_one_malformed_handle_does_not_hold_back_the_others() -> None:
    bad = api.InvalidArgument("malformed")
    # All three, then the first alone, then the two others, of which the second is bad.
    client = ScriptedClient(bad, None, bad, bad, None)
    assert build(client).ack(HANDLES) == {"m2": "malformed"}
    assert client.asked == [["a1", "a2", "a3"], ["a1"], ["a2", "a3"], ["a2"], ["a3"]]


def test_a_denied_request_raises() -> None:
    with pytest.raises(CredentialsError, match=NAME):
        build(ScriptedClient(api.PermissionDenied("no"))).ack(HANDLES)


def test_requests_have_a_thousand_ids_at_most() -> None:
    client = ScriptedClient()
    assert not build(client).ack({f"m{n}": f"a{n}" for n in range(2_500)})
    assert [len(ids) for ids in client.asked] == [1_000, 1_000, 500]


def test_extensions_last_ten_minutes_at_most_and_a_release_is_immediate() -> None:
    client = ScriptedClient()
    queue = build(client)
    queue.extend(HANDLES, 4_000)
    queue.release(HANDLES)
    assert client.deadlines == [600, 0]


def test_a_release_raises_nothing() -> None:
    build(ScriptedClient(api.PermissionDenied("no"))).release(HANDLES)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(api.NotFound("no"), QueueNotFoundError), (api.ServiceUnavailable("busy"), SourceUnavailableError)],
)
def test_a_failed_pull_raises(answer: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected, match=NAME):
        build(ScriptedClient(answer)).receive(10, 1)


def test_an_idle_pull_is_empty() -> None:
    assert not build(ScriptedClient(api.DeadlineExceeded("late"))).receive(10, 1)


def test_without_a_project_the_subscription_is_unknown() -> None:
    source = {"type": "gcs", "bucket": "b", "subscription": "landing", "queue": {"endpoint": "http://x:1"}}
    with pytest.raises(ConfigError, match="no project for subscription landing") as raised:
        build_pubsub_queue(GcsSourceConfig.model_validate(source))
    assert "source.project" in raised.value.hint


def test_another_type_of_source_has_no_subscription() -> None:
    with pytest.raises(ConfigError, match="'s3' has no subscription"):
        build_pubsub_queue(S3SourceConfig.model_validate({"type": "s3", "bucket": "b"}))
