"""What the probe says when its object is not heard of, and what it leaves behind: nothing."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from headwater.sources.finding import SetupFinding
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.message_parser import parse_message
from headwater.sources.probe import MAX_BACKLOG, Probe
from headwater.sources.s3.provisioning.probe import S3ProbeObject

BUCKET = "acme"
TEST_EVENT = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": BUCKET})


def notify(name: str, key: str) -> str:
    stored = {"key": key, "size": 1, "eTag": "e", "sequencer": "00"}
    record = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": name,
        "eventTime": "2026-01-01T00:00:00.000Z",
        "s3": {"bucket": {"name": BUCKET}, "object": stored},
    }
    return json.dumps({"Records": [record]})


class Round:
    """A bucket whose writes tell the queue, as far as `is_heard`."""

    def __init__(self, *, is_heard: bool = True) -> None:
        self.client = boto3.client(
            "s3", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b"
        )
        self.stub = Stubber(self.client)
        self.queue = MemoryQueue(visibility_timeout=600)
        self.written: list[tuple[str, str]] = []
        self._is_heard = is_heard
        self.client.meta.events.register("provide-client-params.s3.*", self._note)

    def _note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.written.append((model.name, params["Key"]))
        event = {"PutObject": "ObjectCreated:Put", "DeleteObject": "ObjectRemoved:Delete"}[model.name]
        if self._is_heard:
            self.queue.send(notify(event, params["Key"]))

    def expect_put(self, version: str = "") -> None:
        answer = {"VersionId": version} if version else {}
        self.stub.add_response("put_object", answer, {"Bucket": BUCKET, "Key": ANY, "Body": ANY})

    def expect_delete(self, version: str = "") -> None:
        given = {"Bucket": BUCKET, "Key": ANY, **({"VersionId": version} if version else {})}
        self.stub.add_response("delete_object", {}, given)

    def run(self, seconds: float = 5) -> list[SetupFinding]:
        with self.stub:
            stored = S3ProbeObject(self.client, BUCKET, "in/")
            found = Probe(stored, self.queue, parse_message).run(seconds)
            self.stub.assert_no_pending_responses()
        return found


@pytest.fixture
def round_trip() -> Iterator[Round]:
    built = Round()
    yield built
    built.queue.close()


def names(findings: list[SetupFinding]) -> list[tuple[str, str]]:
    return [(finding.name, finding.status) for finding in findings]


def test_put_and_removal_are_heard_of_and_nothing_stays(round_trip: Round) -> None:
    round_trip.queue.send(TEST_EVENT)
    round_trip.expect_put("v1")
    round_trip.expect_delete("v1")
    found = round_trip.run()
    assert names(found) == [("probe.created", "ok"), ("probe.removed", "ok")]
    assert "TestEvent" in found[0].detail
    assert all(key.startswith("in/_headwater/probe-") for _, key in round_trip.written)
    assert round_trip.queue.depth().visible + round_trip.queue.depth().in_flight == 0


def test_other_messages_are_released_immediately(round_trip: Round) -> None:
    for at in range(15):
        round_trip.queue.send(notify("ObjectCreated:Put", f"in/{at}.json"))
    round_trip.queue.send("not a notification")
    round_trip.expect_put()
    round_trip.expect_delete()
    assert all(finding.status == "ok" for finding in round_trip.run())
    assert (round_trip.queue.depth().visible, round_trip.queue.depth().in_flight) == (16, 0)
    # Each was received once only: many receives would bring it to the dead-letter queue.
    assert {message.receive_count for message in round_trip.queue.receive(10, 0)} == {2}


def test_silence_is_a_problem_and_the_object_is_removed() -> None:
    silent = Round(is_heard=False)
    silent.queue.send(TEST_EVENT)
    silent.expect_put()
    silent.expect_delete()
    [finding] = silent.run(seconds=0.5)
    assert (finding.name, finding.status) == ("probe", "problem")
    assert "TestEvent arrived" in finding.detail
    assert "headwater doctor" in finding.fix


def test_another_consumer_is_suspected_when_messages_are_with_one() -> None:
    silent = Round(is_heard=False)
    silent.queue.send(notify("ObjectCreated:Put", "in/a.json"))
    assert silent.queue.receive(1, 0)
    silent.expect_put()
    silent.expect_delete()
    [finding] = silent.run(seconds=0.5)
    assert "another consumer has about 1 messages" in finding.detail


def test_behind_a_long_queue_nothing_is_tried(round_trip: Round) -> None:
    for at in range(MAX_BACKLOG + 1):
        round_trip.queue.send(notify("ObjectCreated:Put", f"in/{at}.json"))
    [finding] = round_trip.run()
    assert finding.status == "warning"
    assert round_trip.written == []


def test_a_put_that_is_denied_names_the_right(round_trip: Round) -> None:
    round_trip.stub.add_client_error("put_object", "AccessDenied", http_status_code=403)
    [finding] = round_trip.run()
    assert finding.status == "problem"
    assert "s3:PutObject" in finding.detail
