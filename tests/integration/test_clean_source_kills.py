"""SIGKILL while the source is cleaned: no row goes, nothing goes that was not announced, and it goes on."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headwater.capture.control_events import CLEANED_EVENT
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.pipeline import Pipeline

TABLES = {
    "mirrored": {"path": "in/*.json", "mode": "mirror"},
    "merged": {"path": "in/*.json", "record_key": "id"},
}
KEYS = [f"in/{number}.json" for number in range(6)]

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def pipeline(emulator: EmulatorSession, tmp_path: Path) -> Pipeline:
    """A bucket whose objects are in both tables, and are to be tagged from now on, for a rule to remove."""
    pipeline = Pipeline(emulator, tmp_path, TABLES)
    pipeline.put_all({key: json.dumps({"id": number}) for number, key in enumerate(KEYS)})
    pipeline.run_once().expect(0)
    tags = {"clean_source_tags": {"state": "in"}, "clean_source_delay": 0}
    pipeline.config["source"] |= {"clean_source": "tag", **tags}
    pipeline.write_config()
    return pipeline


def kill(pipeline: Pipeline, point: str) -> set[str]:
    """Killed there; gives what the events say may go."""
    killed = pipeline.start("clean-source", crash_point=point).finish(180)
    assert killed.was_killed, killed.stderr
    return {event["key"] for event in pipeline.records("events") if event["event_name"] == CLEANED_EVENT}


def list_tagged(emulator: EmulatorSession, pipeline: Pipeline) -> list[str]:
    def read_tags(key: str) -> Any:
        return emulator.clients.s3.get_object_tagging(Bucket=pipeline.bucket, Key=key)["TagSet"]

    return [key for key in KEYS if read_tags(key) == [{"Key": "state", "Value": "in"}]]


@pytest.mark.parametrize(("point", "tagged"), [("after_clean_commit", 0), ("mid_clean:3", 3)])
def test_killed_while_it_cleans_no_row_is_lost_and_the_rest_is_cleaned_later(
    emulator: EmulatorSession, pipeline: Pipeline, point: str, tagged: int
) -> None:
    assert kill(pipeline, point) == set(KEYS)
    assert len(list_tagged(emulator, pipeline)) == tagged
    pipeline.run_once().expect(0)
    assert list_tagged(emulator, pipeline) == KEYS
    for key in KEYS:
        pipeline.remove(key)
    pipeline.run_once().expect(0)
    wanted = Counter((number,) for number in range(len(KEYS)))
    assert {name: pipeline.rows(name, "id") for name in TABLES} == dict.fromkeys(TABLES, wanted)
    verified = pipeline.read_json("verify")["tables"]
    assert {name: found["missing"] for name, found in verified.items()} == dict.fromkeys(TABLES, 0)


def test_an_object_put_again_between_kill_and_restart_is_read_and_its_removal_followed(
    pipeline: Pipeline,
) -> None:
    kill(pipeline, "mid_clean:1")
    pipeline.config["source"]["clean_source"] = "off"
    pipeline.write_config()
    pipeline.put(KEYS[0], json.dumps({"id": 100}))
    pipeline.run_once().expect(0)
    assert {number for (number,) in pipeline.rows("mirrored", "id")} == {100, *range(1, len(KEYS))}
    pipeline.remove(KEYS[0])
    pipeline.run_once().expect(0)
    assert {number for (number,) in pipeline.rows("mirrored", "id")} == set(range(1, len(KEYS)))
