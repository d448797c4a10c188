"""Topics of a real broker through the whole product, against what was sent."""

import json
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.kafka_pipeline import KafkaPipeline
from tests.fixtures.end_to_end.kill_workload import kill_during_commit
from tests.fixtures.kafka import Kafka
from tests.fixtures.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

POINTS = (
    "after_receive",
    "before_events_commit",
    "after_events_commit",
    "mid_delete",
    "before_ingest_quarantine_commit",
    "before_data_commit",
    "after_data_commit",
    "before_ledger_commit",
)
COMMITS = ("events", "clicks", "stock", "payments", "customers")


def test_tables_equal_the_topics_and_verify_proves_it(kafka: Kafka, tmp_path: Path) -> None:
    pipeline = KafkaPipeline(kafka, tmp_path / "work", group="headwater-test")
    pipeline.send_round(400)
    pipeline.abort_clicks(20)
    pipeline.send_round(100)
    pipeline.run_once().expect(3)  # bad records are in quarantine
    pipeline.assert_tables_equal()
    pipeline.assert_every_event_is_once()
    items = pipeline.records("quarantine")
    assert len(items) == pipeline.expected.bad
    pipeline.command("verify", "--deep", timeout=300).expect(0)
    listed = pipeline.command("quarantine", "list").expect(0)
    (line, *_) = (one for one in items if one["reason"] == "unparsable")
    assert f"{pipeline.topics['clicks']}/" in listed.stdout
    assert ", offset " in listed.stdout
    partition, number = line["key"].rpartition("/")[0], int(line["key"][-41:-21]) + line["line"] - 1
    explained = pipeline.command("explain", f"{partition}/{number}", timeout=120).expect(0, 3)
    assert line["key"] in explained.stdout

    pipeline.send_payments(10)
    verified = pipeline.read_json("verify")["tables"]
    assert verified["payments"]["pending"] >= 1
    assert verified["stock"]["pending"] == 0


def test_fifty_thousand_records(kafka: Kafka, tmp_path: Path) -> None:
    pipeline = KafkaPipeline(kafka, tmp_path / "work", max_messages_per_object=2_000)
    for count in (5_000, 4_000, 3_500):
        pipeline.send_round(count)
        pipeline.abort_clicks(50)
        pipeline.run_once().expect(3)
    pipeline.assert_tables_equal()
    pipeline.assert_every_event_is_once()
    assert len(pipeline.records("quarantine")) == pipeline.expected.bad
    pipeline.command("verify", "--deep", timeout=300).expect(0)


def test_killed_anywhere_nothing_is_lost_and_nothing_is_twice(kafka: Kafka, tmp_path: Path) -> None:
    pipeline = KafkaPipeline(kafka, tmp_path / "work", max_messages_per_object=50)
    for place in (*COMMITS, *POINTS):
        pipeline.send_round(100)
        if place in POINTS:
            killed = pipeline.run_once(crash_point=place)
        else:
            running = pipeline.start("run", "--once")
            kill_during_commit(running, pipeline.path_of(place))
            killed = running.finish(10)
        assert killed.was_killed, f"{place}: {killed.stderr}"
    pipeline.run_once().expect(3)
    pipeline.assert_tables_equal()
    pipeline.assert_every_event_is_once()
    assert len(pipeline.records("quarantine")) == pipeline.expected.bad
    pipeline.command("verify", "--deep", timeout=300).expect(0)


def test_a_retry_replaces_the_rows_of_its_range(kafka: Kafka, tmp_path: Path) -> None:
    pipeline = KafkaPipeline(kafka, tmp_path / "work")
    topic = pipeline.topics["clicks"]
    table = {"path": f"{topic}/**", "format": "json", "schema": "id bigint", "mode": "append"}
    pipeline.config["tables"] = {"numbers": table}
    pipeline.config["source"]["topics"] = [topic]
    pipeline.write_config()
    kafka.send(topic, '{"id": 1}', '{"id": "2x"}', '{"id": 3}', partition=0)
    pipeline.run_once().expect(3)
    assert pipeline.rows("numbers", "id") == {(1,): 1, (3,): 1}
    kafka.send(topic, '{"id": 4}', partition=0)
    pipeline.command("quarantine", "retry", timeout=300).expect(3)
    pipeline.run_once().expect(3)
    assert pipeline.rows("numbers", "id") == {(1,): 1, (3,): 1, (4,): 1}
    pipeline.command("verify", "--repair", timeout=300).expect(0)
    assert pipeline.rows("numbers", "id") == {(1,): 1, (3,): 1, (4,): 1}


def test_messages_that_retention_removed_are_reported_and_the_others_stay(
    kafka: Kafka, tmp_path: Path
) -> None:
    pipeline = KafkaPipeline(kafka, tmp_path / "work")
    topic = pipeline.topics["payments"]
    del pipeline.config["tables"]["customers"], pipeline.config["tables"]["stock"]
    pipeline.config["tables"]["clicks"] = {"path": f"{topic}/**", "format": "text", "mode": "append"}
    pipeline.config["source"]["topics"] = [topic]
    pipeline.write_config()
    kafka.send(topic, *(f"m{at}" for at in range(10)), partition=0)
    pipeline.start("run", "--once", "--table", "clicks").finish(300).expect(0)
    kafka.send(topic, *(f"m{at}" for at in range(10, 20)), partition=0)
    kafka.send(topic, *(f"p{at}" for at in range(5)), partition=1)
    kafka.remove_before(topic, 0, 14)
    kafka.remove_before(topic, 1, 5)
    pipeline.start("run", "--once", "--table", "clicks").finish(300).expect(3)
    kept = [at for at in range(20) if not 10 <= at < 14]
    assert pipeline.rows("clicks", "value") == {(f"m{at}",): 1 for at in kept}
    items = {(item["level"], item["reason"]): item for item in pipeline.records("quarantine")}
    assert set(items) == {("record", "expired"), ("object", "expired")}
    assert items["record", "expired"]["payload"] == f"offsets 10 to 13 of partition 0 of {topic}"


def test_a_topic_that_was_created_again_is_an_error_until_it_is_allowed(kafka: Kafka, tmp_path: Path) -> None:
    pipeline = KafkaPipeline(kafka, tmp_path / "work")
    topic, other = pipeline.topics["clicks"], pipeline.topics["stock"]
    pipeline.config["tables"] = {"all": {"path": "**", "format": "json", "mode": "append"}}
    pipeline.config["source"]["topics"] = [topic, other]
    pipeline.write_config()
    kafka.send(topic, json.dumps({"n": 1}), json.dumps({"n": 2}), partition=0)
    pipeline.run_once().expect(0)
    kafka.delete_topic(topic)
    kafka.create_topic(1, topic)
    wait_until(lambda: kafka.find_partitions(topic) == 1, "the topic is not created again")
    kafka.send(topic, json.dumps({"n": 3}), partition=0)
    kafka.send(other, json.dumps({"n": 4}))
    stopped = pipeline.run_once().expect(1)
    assert f"topic {topic} cannot be continued: it was deleted and created again" in stopped.stderr
    assert "recreated_topics: continue" in stopped.stderr
    assert sorted(pipeline.rows("all", "n")) == [(1,), (2,), (4,)]  # the other topic goes on
    pipeline.config["source"]["recreated_topics"] = "continue"
    pipeline.write_config()
    pipeline.run_once().expect(0)
    assert pipeline.rows("all", "n") == {(n,): 1 for n in (1, 2, 3, 4)}
    pipeline.command("verify", timeout=120).expect(0)


def test_a_missing_topic_and_a_missing_broker_are_named(kafka: Kafka, tmp_path: Path) -> None:
    pipeline = KafkaPipeline(kafka, tmp_path / "work")
    missing = pipeline.command("--set", "source.topics=nothing-there", "run", "--once", timeout=120)
    missing.expect(1)
    assert "Kafka topic nothing-there" in missing.stderr
    assert "source.topics" in missing.stderr
    down = pipeline.command("--set", "source.bootstrap=127.0.0.1:1", "run", "--once", timeout=120).expect(1)
    assert "Kafka at 127.0.0.1:1: no broker answers" in down.stderr
    assert "source.bootstrap" in down.stderr


def test_topics_and_a_folder_share_a_lake(kafka: Kafka, tmp_path: Path) -> None:
    pipeline = KafkaPipeline(kafka, tmp_path / "work")
    topic, landing = pipeline.topics["clicks"], tmp_path / "landing"
    landing.mkdir()
    pipeline.config["source"] = [
        {**pipeline.config["source"], "name": "topics", "topics": [topic], "cluster": "production"},
        {"name": "files", "type": "local", "path": str(landing), "settle_seconds": 0},
    ]
    pipeline.config["tables"] = {
        "clicks": {"path": f"{topic}/**", "format": "json", "source": "topics"},
        "orders": {"path": "*.json", "mode": "mirror", "source": "files"},
    }
    pipeline.write_config()
    kafka.send(topic, '{"id": 1}', '{"id": 2}', partition=0)
    (landing / "a.json").write_text('{"n": 1}\n')
    (landing / "b.json").write_text('{"n": 2}\n')
    pipeline.run_once().expect(0)
    (landing / "a.json").unlink()
    kafka.send(topic, '{"id": 3}', partition=1)
    pipeline.run_once().expect(0)
    assert pipeline.rows("clicks", "id") == {(1,): 1, (2,): 1, (3,): 1}
    assert pipeline.rows("orders", "n") == {(2,): 1}
    pipeline.command("verify", "--deep", timeout=300).expect(0)
    pipeline.command("reconcile", "--dry-run", timeout=120).expect(0)
    explained = pipeline.command("explain", f"kafka://production/{topic}/0/1", timeout=120).expect(0)
    assert "ingested" in explained.stdout
