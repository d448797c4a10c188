"""Two buckets with one queue, and a folder, in one lake: kills, duplicates, late and lost notifications.

The kills follow each other on one lake, because a start of the JVM costs most of a run.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.demo.emulator import REGION
from headwater.demo.landing_zone import ALL_EVENTS, create_queue, find_queue_arn
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.product import Product
from tests.fixtures.notification_bodies import s3_record

# Of each, a first batch is committed and a second one is in work.
POINTS = (
    "before_events_commit:2",
    "after_events_commit:2",
    "mid_delete",
    "before_data_commit",
    "after_data_commit",
)
TABLES = {
    "everything": {"path": "**/*.json", "mode": "mirror", "schema": "id string, n bigint"},
    "west_only": {"path": "**/*.json", "mode": "mirror", "schema": "id string, n bigint", "source": "west"},
}
Objects = dict[tuple[str, str], list[dict[str, Any]]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


class Sources(Product):
    """The buckets east and west notify one queue; files are written to the folder. `objects` is the model."""

    def __init__(self, emulator: EmulatorSession, folder: Path) -> None:
        self._emulator = emulator
        self._s3, self.sqs = emulator.clients.s3, emulator.clients.sqs
        self.buckets = {name: f"{name}-{folder.name}".replace("_", "-").lower() for name in ("east", "west")}
        self.queue_url = create_queue(emulator.clients, self.buckets["east"], 5)
        arn = find_queue_arn(emulator.clients, self.queue_url)
        for bucket in self.buckets.values():
            self._s3.create_bucket(Bucket=bucket)
            self._s3.put_bucket_notification_configuration(
                Bucket=bucket,
                NotificationConfiguration={
                    "QueueConfigurations": [{"QueueArn": arn, "Events": list(ALL_EVENTS)}]
                },
            )
        self.landing = folder / "landing"
        self.landing.mkdir(parents=True)
        self.objects: Objects = {}
        super().__init__(folder, {}, TABLES, emulator.environment)
        self.config["source"] = list(self._list_sources())
        self.write_config()

    def _list_sources(self) -> Iterator[dict[str, Any]]:
        endpoint = self._emulator.endpoint
        queue = {"url": self.queue_url, "endpoint": endpoint, "long_poll_wait": 1, "visibility_timeout": 5}
        # Small batches: each round is several commits.
        queue |= {"max_messages_per_batch": 5, "receivers": 1}
        for name, bucket in self.buckets.items():
            address = {"bucket": bucket, "region": REGION, "endpoint": endpoint}
            yield {"name": name, "type": "s3", **address, "queue": queue}
        yield {"name": "files", "type": "local", "path": str(self.landing), "settle_seconds": 0.1}

    def put(self, source: str, key: str, *numbers: int) -> None:
        rows = [{"id": f"{source}/{key}", "n": number} for number in numbers]
        body = "\n".join(map(json.dumps, rows)).encode()
        self.objects[source, key] = rows
        if source == "files":
            file = self.landing / key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(body)
        else:
            self._s3.put_object(Bucket=self.buckets[source], Key=key, Body=body)

    def remove(self, source: str, key: str) -> None:
        del self.objects[source, key]
        if source == "files":
            (self.landing / key).unlink()
        else:
            self._s3.delete_object(Bucket=self.buckets[source], Key=key)

    def repeat_messages(self) -> None:
        """Send each waiting message again: the queue delivers at least once, in any order."""
        received = self.sqs.receive_message(
            QueueUrl=self.queue_url, MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        for message in reversed(received.get("Messages", [])):
            self.sqs.send_message(QueueUrl=self.queue_url, MessageBody=message["Body"])

    def change_everywhere(self, number: int) -> None:
        """Put the same keys to all sources; overwrite some, and remove one of them in one source only."""
        for source in ("east", "west", "files"):
            for at in range(4):
                self.put(source, f"round-{number}/{at}.json", number, at)
            self.put(source, "common.json", number, len(source))
        self.remove(("east", "west", "files")[number % 3], f"round-{number}/1.json")
        if number:
            self.put("west", f"round-{number - 1}/2.json", 100 + number)
            self.remove("files", f"round-{number - 1}/3.json")
        self.repeat_messages()

    def assert_tables_equal_the_model(self) -> None:
        for table, sources in (("everything", ("east", "west", "files")), ("west_only", ("west",))):
            wanted = Counter(
                (row["id"], row["n"])
                for (source, _), rows in self.objects.items()
                if source in sources
                for row in rows
            )
            assert self.rows(table, "id", "n") == wanted, table


@pytest.fixture(scope="module")
def sources(emulator: EmulatorSession, tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """The lake after a kill at each point, and a run that ended."""
    sources = Sources(emulator, tmp_path_factory.mktemp("several"))
    for number, point in enumerate(POINTS):
        sources.change_everywhere(number)
        killed = sources.run_once(crash_point=point)
        assert killed.was_killed, (point, killed.stderr)
    sources.run_once().expect(0)
    return sources


def test_after_kills_all_tables_equal_the_model(sources: Sources) -> None:
    sources.assert_tables_equal_the_model()
    sources.assert_every_event_is_once()
    sources.command("verify", "--deep", timeout=120).expect(0)


def test_commands_name_the_source(sources: Sources) -> None:
    status = sources.read_json("status")
    assert [source["name"] for source in status["sources"]] == ["east", "west", "files"]
    assert [source["queue"] is None for source in status["sources"]] == [False, True, True]
    address = f"s3://{sources.buckets['east']}/common.json"
    explained = sources.read_json("explain", address)
    assert explained["status"] == "ingested"
    assert explained["tables"]["west_only"]["filtered_by"] == "source"
    reconciled = sources.read_json("reconcile", "--dry-run")
    assert [one["reconcile"]["missing"] for one in reconciled] == [0, 0, 0]


def test_an_object_without_a_notification_is_found_in_its_own_source(sources: Sources) -> None:
    # Objects of this age may otherwise still have notifications on their way.
    sources.config["reconcile"] = {"settle_seconds": 0}
    sources.write_config()
    west = sources.buckets["west"]
    sources._s3.put_bucket_notification_configuration(Bucket=west, NotificationConfiguration={})
    sources.put("west", "round-0/0.json", 77)
    report = sources.read_json("reconcile", "--dry-run", "--source", "west")
    assert [report[0]["reconcile"][kind] for kind in ("missing", "changed", "vanished")] == [0, 1, 0]
    sources.run_once().expect(0)
    sources.assert_tables_equal_the_model()


def test_an_event_of_a_bucket_of_no_source_is_reported_and_blocks_nothing(sources: Sources) -> None:
    record = s3_record()
    record["s3"]["bucket"]["name"] = "stranger"
    sources.sqs.send_message(QueueUrl=sources.queue_url, MessageBody=json.dumps({"Records": [record]}))
    sources.put("files", "last.json", 1)
    run = sources.run_once().expect(0)
    assert "stranger" in run.stderr
    sources.assert_tables_equal_the_model()
    # The bucket west has no notifications any more, which is a problem of its source alone.
    findings = json.loads(sources.command("doctor", "--json").expect(1).stdout)["findings"]
    assert {one["name"].split(":")[0] for one in findings if one["status"] == "problem"} == {"west"}
    (found,) = [one for one in findings if one["name"] == "lake.other_buckets"]
    assert found["status"] == "warning"
    assert "events of the bucket stranger: 1" in found["detail"]
