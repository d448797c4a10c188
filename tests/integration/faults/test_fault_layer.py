"""The fault layer itself: each kind does to a plain client what it says; without rates nothing happens."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    IncompleteReadError,
    ResponseStreamingError,
)

from headwater.demo.emulator import CREDENTIALS, REGION
from headwater.demo.landing_zone import LandingZone
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.faults.layer import FaultLayer, run_fault_layer
from tests.fixtures.faults.schedule import EVERY, Fault, Schedule
from tests.fixtures.waiting import wait_until

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import DeleteMessageBatchResultTypeDef, MessageTypeDef

BODIES = [f"body {at}" for at in range(6)]


@pytest.fixture
def zone(emulator: EmulatorSession) -> LandingZone:
    zone = emulator.create_landing_zone()
    emulator.clients.s3.put_bucket_notification_configuration(
        Bucket=zone.bucket, NotificationConfiguration={}
    )
    emulator.clients.sqs.purge_queue(QueueUrl=zone.queue_url)
    return zone


class Client:
    """A client that tries once."""

    def __init__(self, layer: FaultLayer) -> None:
        config = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        keys: dict[str, Any] = {name.lower(): value for name, value in CREDENTIALS.items()}
        session = boto3.session.Session(region_name=REGION, **keys)
        self.layer = layer
        self.s3 = session.client("s3", endpoint_url=layer.endpoint, config=config)
        self.sqs = session.client("sqs", endpoint_url=layer.endpoint, config=config)

    def receive(self, queue_url: str, visibility: int = 1) -> "list[MessageTypeDef]":
        return self.sqs.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, VisibilityTimeout=visibility
        ).get("Messages", [])

    def delete(
        self, queue_url: str, messages: "Sequence[MessageTypeDef]"
    ) -> "DeleteMessageBatchResultTypeDef":
        return self.sqs.delete_message_batch(
            QueueUrl=queue_url,
            Entries=[
                {"Id": str(at), "ReceiptHandle": message["ReceiptHandle"]}
                for at, message in enumerate(messages)
            ],
        )


@contextmanager
def open_client(emulator: EmulatorSession, **every: int) -> Iterator[Client]:
    with run_fault_layer(emulator.endpoint, 3, cast("Mapping[Fault, int]", every)) as layer:
        client = Client(layer)
        yield client
        client.s3.close()
        client.sqs.close()


def send(emulator: EmulatorSession, zone: LandingZone) -> None:
    for body in BODIES:
        emulator.clients.sqs.send_message(QueueUrl=zone.queue_url, MessageBody=body)


def receive_until_empty(client: Client, queue_url: str, polls: int = 3) -> list[str]:
    """Bodies, each message deleted."""
    found: list[str] = []
    for _ in range(polls):
        while messages := client.receive(queue_url, visibility=30):
            found += [message["Body"] for message in messages]
            client.delete(queue_url, messages)
    return found


def test_without_rates_everything_goes_through(emulator: EmulatorSession, zone: LandingZone) -> None:
    send(emulator, zone)
    with open_client(emulator) as client:
        assert receive_until_empty(client, zone.queue_url) == BODIES
        client.s3.put_object(Bucket=zone.bucket, Key="a b/+%41é", Body=b"text")
        assert client.s3.get_object(Bucket=zone.bucket, Key="a b/+%41é")["Body"].read() == b"text"
        assert client.s3.head_object(Bucket=zone.bucket, Key="a b/+%41é")["ContentLength"] == 4
        assert not client.layer.injected


def test_lost_message_is_never_received(emulator: EmulatorSession, zone: LandingZone) -> None:
    send(emulator, zone)
    with open_client(emulator, lost=3) as client:
        found = receive_until_empty(client, zone.queue_url)
        assert client.layer.injected["lost"] == len(client.layer.queue.lost) == 2
    assert sorted(found + client.layer.queue.lost) == BODIES


def test_duplicate_comes_as_a_message_of_its_own(emulator: EmulatorSession, zone: LandingZone) -> None:
    send(emulator, zone)
    with open_client(emulator, duplicated=3) as client:
        found = receive_until_empty(client, zone.queue_url)
        assert client.layer.injected["duplicated"] == 2
    assert (len(found), sorted(set(found))) == (8, BODIES)


def test_other_order_has_the_same_messages(emulator: EmulatorSession, zone: LandingZone) -> None:
    send(emulator, zone)
    with open_client(emulator, reordered=1) as client:
        found = receive_until_empty(client, zone.queue_url)
    assert (found != BODIES, sorted(found)) == (True, BODIES)


def test_held_back_message_comes_when_it_is_visible_again(
    emulator: EmulatorSession, zone: LandingZone
) -> None:
    send(emulator, zone)
    with open_client(emulator, held_back=3) as client:
        first = client.receive(zone.queue_url)
        client.delete(zone.queue_url, first)
        assert len(first) == 4
        late: list[str] = []
        wait_until(lambda: late.extend(m["Body"] for m in client.receive(zone.queue_url)) or len(late) == 2)
    assert sorted([*(message["Body"] for message in first), *late]) == BODIES


@pytest.mark.parametrize(("kind", "failed"), [("stale_handle", 0), ("refused_delete", 2)])
def test_message_that_was_not_deleted_comes_back(
    emulator: EmulatorSession, zone: LandingZone, kind: Fault, failed: int
) -> None:
    send(emulator, zone)
    with open_client(emulator, **{kind: 3}) as client:
        answer = client.delete(zone.queue_url, client.receive(zone.queue_url))
        assert len(answer.get("Failed", ())) == failed
        assert client.layer.injected[kind] == 2
        wait_until(lambda: len(client.receive(zone.queue_url)) == 2, "both again")


def test_busy_services_refuse_several_requests_in_a_row(emulator: EmulatorSession, zone: LandingZone) -> None:
    with open_client(emulator, busy_queue=1, busy_store=1) as client:
        for ask in (
            lambda: client.receive(zone.queue_url),
            lambda: client.s3.get_object(Bucket=zone.bucket, Key="a"),
        ):
            statuses = []
            for _ in range(3):
                with pytest.raises(ClientError) as caught:
                    ask()
                statuses.append(caught.value.response["ResponseMetadata"]["HTTPStatusCode"])
            assert statuses == [503] * 3
        assert client.layer.injected == {"busy_queue": 1, "busy_store": 1}


def test_lost_answer_is_of_a_request_that_was_done(emulator: EmulatorSession, zone: LandingZone) -> None:
    with open_client(emulator, lost_answer=1) as client:
        with pytest.raises(ConnectionClosedError):
            client.sqs.send_message(QueueUrl=zone.queue_url, MessageBody="done")
        with pytest.raises(ConnectionClosedError):
            client.s3.put_object(Bucket=zone.bucket, Key="a", Body=b"done")
    found = emulator.clients.sqs.receive_message(QueueUrl=zone.queue_url)["Messages"]
    assert [message["Body"] for message in found] == ["done"]
    assert emulator.clients.s3.get_object(Bucket=zone.bucket, Key="a")["Body"].read() == b"done"


def test_body_is_truncated_only_temporarily(emulator: EmulatorSession, zone: LandingZone) -> None:
    emulator.clients.s3.put_object(Bucket=zone.bucket, Key="a", Body=b"0123456789")
    with open_client(emulator, truncated_body=1) as client:
        for _ in range(2):
            body = client.s3.get_object(Bucket=zone.bucket, Key="a")["Body"]
            with pytest.raises((IncompleteReadError, ResponseStreamingError)):
                body.read()
        assert client.s3.get_object(Bucket=zone.bucket, Key="a")["Body"].read() == b"0123456789"
        assert client.layer.injected["truncated_body"] == 2


def test_schedule_strikes_as_often_as_it_says_and_the_same_for_one_seed() -> None:
    def draw(seed: int) -> list[bool]:
        schedule = Schedule(seed)
        return [schedule.strikes("lost") for _ in range(10 * EVERY["lost"])]

    assert sum(draw(1)) == 10
    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
