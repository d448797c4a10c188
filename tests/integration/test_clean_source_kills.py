"""SIGKILL while the source is cleaned: no row goes, nothing goes that was not announced, and it goes on."""

import json
from collections import Counter
from pathlib import Path

import pytest

from headwater.capture.own_events import CLEANED_EVENT
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.pipeline import Pipeline

TABLES = {
    "mirrored": {"path": "in/*.json", "mode": "mirror"},
    "merged": {"path": "in/*.json", "record_key": "id", "on_object_removed": "retract"},
}
COUNT = 6
# Of this one the table must hear: its removal is somebody's own.
REMOVED = "in/0.json"

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture
def pipeline(emulator: EmulatorSession, tmp_path: Path) -> Pipeline:
    """A bucket whose objects are in both tables, and are to be deleted from now on."""
    pipeline = Pipeline(emulator, tmp_path, TABLES)
    pipeline.put_all({f"in/{number}.json": json.dumps({"id": number}) for number in range(COUNT)})
    pipeline.run_once().expect(0)
    pipeline.config["source"] |= {"clean_source": "delete", "clean_source_delay": 0}
    pipeline.write_config()
    return pipeline


def assert_rows(pipeline: Pipeline, *ids: int) -> None:
    wanted = Counter((number,) for number in ids)
    assert {name: pipeline.rows(name, "id") for name in TABLES} == dict.fromkeys(TABLES, wanted)


def assert_goes_on(pipeline: Pipeline) -> None:
    """The next runs clean the rest and hear of all removals; the tables stay, and verify agrees."""
    pipeline.run_once().expect(0)
    assert pipeline.read_objects() == {}
    pipeline.run_once().expect(0)
    assert pipeline.queue_depth() == (0, 0)
    assert_rows(pipeline, *range(COUNT))
    verified = pipeline.read_json("verify")
    assert {name: found["missing"] for name, found in verified["tables"].items()} == dict.fromkeys(TABLES, 0)


@pytest.mark.parametrize(("point", "left"), [("after_clean_commit", COUNT), ("mid_clean:3", COUNT - 3)])
def test_killed_while_it_cleans_no_row_is_lost_and_the_rest_is_cleaned_later(
    pipeline: Pipeline, point: str, left: int
) -> None:
    killed = pipeline.start("clean-source", crash_point=point).finish(180)
    assert killed.was_killed, killed.stderr
    assert len(pipeline.read_objects()) == left
    announced = [event["key"] for event in pipeline.records("events") if event["event_name"] == CLEANED_EVENT]
    assert sorted(set(announced)) == [f"in/{number}.json" for number in range(COUNT)]
    assert_goes_on(pipeline)


def test_an_object_put_again_between_kill_and_restart_is_read_and_its_removal_followed(
    pipeline: Pipeline,
) -> None:
    assert pipeline.start("clean-source", crash_point="mid_clean:1").finish(180).was_killed
    pipeline.config["source"]["clean_source"] = "off"
    pipeline.write_config()
    pipeline.put(REMOVED, json.dumps({"id": 100}))
    pipeline.run_once().expect(0)
    assert {number for (number,) in pipeline.rows("mirrored", "id")} == {100, *range(1, COUNT)}
    pipeline.remove(REMOVED)
    pipeline.run_once().expect(0)
    assert {number for (number,) in pipeline.rows("mirrored", "id")} == set(range(1, COUNT))
