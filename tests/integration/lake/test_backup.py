"""A lake is backed up while a run overwrites and removes its objects; the restored lake resumes from it."""

import itertools
import json
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.demo.emulator import REGION
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.pipeline import Pipeline

pytestmark = [pytest.mark.long, pytest.mark.timeout(1_800)]

OFTEN = {"hoodie.clean.trigger.max.commits": "1"}
# Shop's files are cleaned right after the next commit, the others' are kept: a state of the past can be read.
TABLES: dict[str, dict[str, Any]] = {
    "shop": {"path": "shop/*.json", "mode": "mirror", "keep_commits": 1, "hoodie": OFTEN},
    "clicks": {"path": "clicks/*.json", "mode": "append", "keep_commits": 500},
    "orders": {
        "path": "orders/*.json",
        "record_key": "id",
        "ordering": "at",
        "table_type": "merge_on_read",
        "index": {"type": "global_record_level"},
        "keep_commits": 500,
        "compact_after": 2,
    },
    "names": {"from": "shop", "transform": [{"sql": "select * from input"}]},
}
PRODUCTS, ROWS = 4, 3


def build_product(number: int, round_: int) -> str:
    rows = [{"id": f"{number}-{at}", "product": number, "round": round_} for at in range(ROWS)]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@contextmanager
def keep_changing(pipeline: Pipeline) -> Iterator[None]:
    """Overwrite, remove and add objects until the end."""
    stop = threading.Event()

    def change() -> None:
        for round_ in itertools.count(1):
            for number in range(PRODUCTS):
                if stop.wait(0.5):
                    return
                if (number + round_) % 4 == 0:
                    pipeline.remove(f"shop/{number}.json")
                else:
                    pipeline.put(f"shop/{number}.json", build_product(number, round_))
            pipeline.put(f"clicks/{round_}.json", json.dumps({"n": round_}))
            pipeline.put(f"orders/{round_}.json", json.dumps({"id": round_ % 5, "at": round_}))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def read_objects(pipeline: Pipeline, prefix: str) -> list[dict[str, Any]]:
    bodies = pipeline.read_objects(prefix).values()
    return [json.loads(line) for body in bodies for line in body.splitlines()]


def sort_records(records: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(record, sort_keys=True, default=str) for record in records)


def leave_files_out(records: list[dict[str, Any]]) -> list[str]:
    """The records without the names of their files: a state of the past is read from other files."""
    named = "_hoodie_file_name"
    return sort_records([{name: row[name] for name in row if name != named} for row in records])


def back_up_busy_run(pipeline: Pipeline, where: tuple[str, ...]) -> dict[str, Any]:
    """Back up twice while a run ingests and cleans; return what the second one reports."""
    running = pipeline.start("run")
    with keep_changing(pipeline):
        timeline = pipeline.path_of("shop") / ".hoodie/timeline"
        running.wait_until(lambda: len(list(timeline.glob("*_*.clean"))) > 1, "cleans of the shop", 600)
        # A run writes the ledger every 16 commits or 30 seconds: a quick machine has cleaned before.
        ledger = pipeline.path_of("ledger") / ".hoodie/timeline"
        running.wait_until(lambda: any(ledger.glob("*_*.*commit")), "a commit of the ledger", 60)
        pipeline.command("backup", *where, timeout=400).expect(0)
        done: dict[str, Any] = pipeline.read_json("backup", *where)
        running.signal(signal.SIGTERM)
        running.finish(300).expect(0, 3)
    assert 0 < done["copied_files"] < done["files"]
    return done


def assert_equals_bucket(pipeline: Pipeline) -> None:
    shop = sort_records(read_objects(pipeline, "shop/"))
    for name in ("shop", "names"):
        assert sort_records(pipeline.records(name)) == shop, name
    assert sort_records(pipeline.records("clicks")) == sort_records(read_objects(pipeline, "clicks/"))
    newest = {row["id"]: row for row in sorted(read_objects(pipeline, "orders/"), key=lambda row: row["at"])}
    assert sort_records(pipeline.records("orders")) == sort_records(list(newest.values()))
    pipeline.assert_every_event_is_once()


def test_a_lake_restored_from_a_backup_of_a_busy_run_catches_up_with_the_bucket(
    emulator: EmulatorSession, tmp_path: Path
) -> None:
    # The notifications of the last objects went to the lost lake: however young, no other will come.
    pipeline = Pipeline(emulator, tmp_path, TABLES, capture={"batch_seconds": 0.5})
    bucket = f"backup-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=bucket)
    where = (f"s3://{bucket}/lakes/one", "--endpoint", emulator.endpoint, "--region", REGION)
    done = back_up_busy_run(pipeline, where)
    instants = {table["name"]: table["instant"] for table in done["manifest"]["tables"]}
    assert {*TABLES, "events", "ledger", "reconciles"} <= instants.keys()
    past = {
        name: pipeline.read_json_lines("sql", f"select * from {name}", "--as-of", instants[name])
        for name in ("clicks", "orders")
    }

    pipeline.lake = tmp_path / "elsewhere" / "lake"
    pipeline.config["lake"] = str(pipeline.lake)
    pipeline.write_config()
    assert "headwater reconcile" in pipeline.read_json("restore", *where)["next"][0]
    for name, rows in past.items():
        assert leave_files_out(pipeline.sql(f"select * from {name}")) == leave_files_out(rows), name
    for name in ("shop", "names"):
        versions = {(row["product"], row["round"]) for row in pipeline.records(name)}
        assert versions
        assert len(versions) == len(dict(versions)), "rows of two versions of one object"
    for name in instants:
        pipeline.command("table", name, "check", "--contents").expect(0)

    pipeline.command("reconcile", timeout=400).expect(0)
    pipeline.run_once(timeout=600).expect(0)
    pipeline.command("verify", "--deep", timeout=400).expect(0)
    assert_equals_bucket(pipeline)
