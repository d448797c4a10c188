"""Cases in which HoodieStreamer 1.2 lost, blocked or read the wrong thing; each by its name.

Three runs on one lake, in the order of the fixtures: removals alone, everything at once, what came later.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fixtures.end_to_end.command import Finished
from tests.fixtures.end_to_end.pipeline import NO_RECONCILE, Pipeline, Put
from tests.fixtures.end_to_end.product import Row
from tests.fixtures.notification_bodies import s3_record

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ODD = (
    *("odd/a b.json", "odd/a#b.json", "odd/a=b.json", "odd/a&b.json", "odd/a'b.json", "odd/a(b).json"),
    *("odd/a:b.json", "odd/grüße-日本.json"),
)
TABLES: dict[str, dict[str, Any]] = {
    "commits": {"path": "commits/*.json"},
    "slow": {"path": "commits/*0.json", "max_files_per_trigger": 1},
    "odd": {"path": "odd/*.json"},
    "equal_times": {"path": "equal-times/*.json"},
    "good": {"path": "good/*.json"},
    "partly": {"path": "partly/*.json"},
    "repeated": {"path": "repeated/*.json"},
    "changing": {"path": "changing/*.json"},
    "merged": {"path": "changing/*.json", "record_key": "id"},
}


def row(key: str) -> str:
    """An object of one row that says whose it is."""
    return json.dumps({"from": key}) + "\n"


def rows_of(*keys: str) -> Counter[Row]:
    return Counter((key,) for key in keys)


@dataclass
class Story:
    """The pipeline, how its runs ended and what the tables held after each."""

    pipeline: Pipeline
    runs: dict[str, Finished] = field(default_factory=dict)
    rows: dict[str, dict[str, Counter[Row]]] = field(default_factory=dict)
    depths: dict[str, tuple[int, int]] = field(default_factory=dict)
    quarantine: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    events: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def run(self, name: str) -> None:
        pipeline = self.pipeline
        self.runs[name] = pipeline.run_once().expect(0, 3)
        self.rows[name] = {table: pipeline.rows(table) for table in TABLES}
        self.depths[name] = pipeline.queue_depth()
        self.quarantine[name] = pipeline.records("quarantine")
        self.events[name] = pipeline.records("events")

    def quarantined(self, name: str, **fields: Any) -> list[dict[str, Any]]:
        return [
            item for item in self.quarantine[name] if fields.items() <= {k: item[k] for k in fields}.items()
        ]


@pytest.fixture(scope="module")
def story(emulator, tmp_path_factory) -> Story:
    # Ten messages a batch: many commits of the events table, as after a day.
    folder = tmp_path_factory.mktemp("streamer-cases")
    return Story(
        Pipeline(emulator, folder, TABLES, queue={"max_messages_per_batch": 10}, reconcile=NO_RECONCILE)
    )


@pytest.fixture(scope="module")
def removals(story: Story) -> Story:
    """Only removals in the queue, and tables that do not exist yet."""
    story.pipeline.put_quietly({f"gone/{at}.json": row("gone") for at in range(5)})
    for at in range(5):
        story.pipeline.remove(f"gone/{at}.json")
    story.run("removals")
    return story


@pytest.fixture(scope="module")
def main_run(removals: Story) -> Story:
    pipeline = removals.pipeline
    pipeline.put_all({f"commits/{at:02d}.json": row(f"{at:02d}") for at in range(50)})
    pipeline.put_all({key: row(key) for key in (*ODD, "odd/a+b.json", "odd/a%41b.json", 'odd/a"b.json')})
    # Nobody was told of the object that a wrong decoding leads to.
    pipeline.put_quietly({"odd/aAb.json": row("odd/aAb.json")})
    same_time = pipeline.put_quietly({f"equal-times/{at:02d}.json": row(f"{at:02d}") for at in range(30)})
    pipeline.send(*(pipeline.describe(stored, f"{at:04x}") for at, stored in enumerate(same_time)))
    pipeline.put_all({f"good/{at:02d}.json": row(f"{at:02d}") for at in range(20)})
    pipeline.send("{this is not JSON", json.dumps({"Records": [nameless(pipeline)]}))
    pipeline.put_all({f"partly/{at}.json": row(str(at)) for at in range(5)})
    pipeline.send(pipeline.describe(Put("partly/later.json", "0" * 32, 20), "0000"))
    (repeated,) = pipeline.put_quietly({"repeated/one.json": row("one")})
    pipeline.send(*[pipeline.describe(repeated, "00AA")] * 3)
    pipeline.put("changing/a.json", '{"id": 1, "v": "old"}\n{"id": 2, "v": "old"}\n')
    pipeline.put("changing/b.json", '{"id": 3, "v": "old"}\n')
    removals.run("main")
    return removals


def nameless(pipeline: Pipeline) -> dict[str, Any]:
    record = s3_record(object_={"key": "good/nameless.json"})
    record["s3"]["bucket"]["name"] = pipeline.bucket
    del record["eventName"]
    return record


@pytest.fixture(scope="module")
def later(main_run: Story) -> Story:
    pipeline = main_run.pipeline
    pipeline.put("partly/later.json", row("later"))
    (repeated,) = pipeline.put_quietly({"repeated/one.json": row("one")})
    pipeline.send(pipeline.describe(repeated, "00AA"))
    pipeline.put("changing/a.json", '{"id": 1, "v": "new"}\n')
    pipeline.remove("changing/b.json")
    main_run.run("later")
    return main_run


def test_newest_events_commit_is_not_skipped(main_run):
    assert main_run.rows["main"]["commits"] == rows_of(*(f"{at:02d}" for at in range(50)))


def test_there_were_several_events_commits(main_run):
    pipeline = main_run.pipeline
    timeline = pipeline.path_of("events") / ".hoodie" / "timeline"
    assert len(list(timeline.glob("*.commit"))) >= 5, "the tests of this module need several commits"


def test_a_table_that_reads_one_file_at_a_time_reaches_the_end(main_run):
    assert main_run.rows["main"]["slow"] == rows_of("00", "10", "20", "30", "40")


def test_events_with_equal_times_are_all_ingested(main_run):
    assert main_run.rows["main"]["equal_times"] == rows_of(*(f"{at:02d}" for at in range(30)))
    assert main_run.depths["main"] == (0, 0)


@pytest.mark.parametrize("key", [*ODD, "odd/a+b.json", "odd/a%41b.json", 'odd/a"b.json'])
def test_object_with_an_odd_key_is_read_and_no_other(main_run, key):
    assert main_run.rows["main"]["odd"][(key,)] == 1


def test_key_with_plus_is_not_the_key_with_space(main_run):
    found = main_run.rows["main"]["odd"]
    assert (found[("odd/a+b.json",)], found[("odd/a b.json",)]) == (1, 1)


def test_object_never_announced_is_not_read_for_a_literal_percent_escape(main_run):
    found = main_run.rows["main"]["odd"]
    assert (found[("odd/a%41b.json",)], found[("odd/aAb.json",)]) == (1, 0)


def test_one_unparsable_body_does_not_stop_twenty_good_ones(main_run):
    assert main_run.rows["main"]["good"] == rows_of(*(f"{at:02d}" for at in range(20)))
    (item,) = main_run.quarantined("main", reason="malformed_json")
    assert item["payload"] == "{this is not JSON"


def test_event_without_a_name_is_quarantined_and_acknowledged(main_run):
    (item,) = main_run.quarantined("main", reason="missing_field")
    assert "nameless" in item["payload"]
    assert main_run.depths["main"] == (0, 0)


def test_only_removals_are_acknowledged(removals):
    assert removals.depths["removals"] == (0, 0)
    assert Counter(event["kind"] for event in removals.events["removals"]) == {"removed": 5}
    assert removals.runs["removals"].exit_code == 0


def test_missing_object_does_not_stop_five_good_ones(main_run):
    assert main_run.rows["main"]["partly"] == rows_of(*"01234")
    (item,) = main_run.quarantined("main", table="partly")
    assert (item["level"], item["reason"], item["key"]) == ("object", "missing", "partly/later.json")
    assert main_run.runs["main"].exit_code == 3


def test_missing_object_that_appears_later_is_ingested(later):
    assert later.rows["later"]["partly"] == rows_of(*"01234", "later")


def test_same_event_twice_is_one_event_and_one_row(main_run):
    keys = Counter(event["key"] for event in main_run.events["main"])
    assert keys["repeated/one.json"] == 1
    assert main_run.rows["main"]["repeated"] == rows_of("one")


def test_event_delivered_again_after_its_commit_changes_nothing(later):
    keys = Counter(event["key"] for event in later.events["later"])
    assert keys["repeated/one.json"] == 1
    assert later.rows["later"]["repeated"] == rows_of("one")
    assert later.depths["later"] == (0, 0)


def test_overwritten_object_brings_its_new_rows(later):
    # Rows of the replaced version stay: that they go is what `mode: mirror` is for.
    assert later.rows["later"]["changing"] == Counter([(1, "old"), (2, "old"), (3, "old"), (1, "new")])
    assert later.rows["later"]["merged"] == Counter([(1, "new"), (2, "old"), (3, "old")])


def test_removal_is_acknowledged_and_counted_and_the_rows_stay(later):
    removed = [event["key"] for event in later.events["later"] if event["kind"] == "removed"]
    assert "changing/b.json" in removed
    assert later.rows["later"]["merged"][(3, "old")] == 1
    entries = [entry for entry in later.pipeline.records("ledger") if entry["key"] == "changing/b.json"]
    assert {(entry["status"], entry["events"]) for entry in entries} == {("ingested", 2)}


def test_no_event_is_there_twice_after_all_runs(later):
    later.pipeline.assert_every_event_is_once()


@pytest.mark.long
def test_killed_between_commit_and_delete_with_2000_messages(emulator, tmp_path):
    pipeline = Pipeline(emulator, tmp_path, {"seen": {"path": "seen/*.json"}}, reconcile=NO_RECONCILE)
    tap = pipeline.create_tap()
    pipeline.put_all({f"seen/{at}.json": row(str(at)) for at in range(20)})
    # The others are of no table, so nobody has to fetch them.
    others = [Put(f"other/{at}.json", "0" * 32, 10) for at in range(1_980)]
    bodies = [*pipeline.drain(tap)[1:], *(pipeline.describe(p, f"{at:04x}") for at, p in enumerate(others))]
    pipeline.send(*bodies)
    assert pipeline.run_once(crash_point="after_events_commit").was_killed
    assert sum(pipeline.queue_depth()) > 0
    pipeline.run_once().expect(0)
    pipeline.assert_every_event_is_once()
    assert len(pipeline.records("events")) == 2_000
    assert pipeline.rows("seen") == rows_of(*(str(at) for at in range(20)))
    assert pipeline.queue_depth() == (0, 0)
