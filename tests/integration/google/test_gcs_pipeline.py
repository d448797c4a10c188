"""A bucket of Cloud Storage with Pub/Sub through the whole product, against a plain reading of the bucket."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.end_to_end.gcs_pipeline import GcsPipeline
from tests.fixtures.end_to_end.kill_workload import kill_during_commit
from tests.fixtures.end_to_end.product import Row, count_rows
from tests.fixtures.google import PubSub, open_storage

pytestmark = pytest.mark.timeout(600)

TABLES: dict[str, dict[str, Any]] = {
    "clicks": {"path": "clicks/**/*.json"},
    "orders": {"path": "orders/*.json", "record_key": "id", "ordering": "ts"},
    "shop": {"path": "shop/*.json", "mode": "mirror"},
}
COLUMNS = {"clicks": ("id", "page"), "orders": ("id", "ts"), "shop": ("product", "n")}
ODD = ("a b+c%41", "100%", "what?#x&y", "übergröße-日本-😀", "quote\"'{a,b}[c]*")
OBJECTS = 2_000


def to_lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read_rows(pipeline: GcsPipeline, prefix: str) -> list[dict[str, Any]]:
    rows = []
    for body in pipeline.read_objects(prefix).values():
        for line in body.splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
    return rows


def build_objects() -> dict[str, str]:
    objects: dict[str, str] = {}
    for n in range(OBJECTS):
        name = f"{n:04}{ODD[n // 40 % len(ODD)] if n % 40 == 0 else ''}"
        if n % 2:
            bad = "{broken\n" if n % 100 == 1 else ""
            objects[f"clicks/day={n % 7}/{name}.json"] = bad + to_lines({"id": n, "page": f"/{n % 9}"})
        elif n % 4:
            objects[f"orders/{name}.json"] = to_lines({"id": n % 300, "ts": n})
        else:
            objects[f"shop/{name}.json"] = to_lines(*({"product": n, "n": at} for at in range(1 + n % 3)))
    return objects


@pytest.fixture(scope="module")
def pipeline(pubsub: PubSub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcsPipeline]:
    """Two thousand objects, some overwritten or removed, their notifications twice and out of order, all
    ingested."""
    folder = tmp_path_factory.mktemp("gcs")
    with open_storage(folder, pubsub) as storage:
        found = GcsPipeline(storage, pubsub, folder / "work", TABLES)
        objects = build_objects()
        found.put_all(objects)
        chance = random.Random(22)
        shop = sorted(key for key in objects if key.startswith("shop/"))
        for key in chance.sample(shop, len(shop) // 8):
            found.put(key, to_lines({"product": -1, "n": chance.randrange(100)}))
        for key in chance.sample(shop, len(shop) // 12):
            found.remove(key)
        assert found.send_again() > OBJECTS
        found.run_once().expect(3)
        yield found


def test_the_tables_equal_the_bucket(pipeline: GcsPipeline) -> None:
    assert pipeline.rows("clicks", *COLUMNS["clicks"]) == count_rows(
        read_rows(pipeline, "clicks/"), COLUMNS["clicks"]
    )
    assert pipeline.rows("shop", *COLUMNS["shop"]) == count_rows(
        read_rows(pipeline, "shop/"), COLUMNS["shop"]
    )
    newest: dict[int, int] = {}
    for row in read_rows(pipeline, "orders/"):
        newest[row["id"]] = max(newest.get(row["id"], 0), row["ts"])
    expected: Counter[Row] = Counter(newest.items())
    assert pipeline.rows("orders", *COLUMNS["orders"]) == expected


def test_every_event_is_stored_once_and_bad_records_are_in_quarantine(pipeline: GcsPipeline) -> None:
    pipeline.assert_every_event_is_once()
    assert len(pipeline.records("quarantine")) == OBJECTS // 100


def test_verify_proves_it_and_explain_names_the_object(pipeline: GcsPipeline) -> None:
    pipeline.command("verify", "--deep", timeout=300).expect(0)
    (key, *_) = (key for key in pipeline.read_objects("shop/") if "übergröße" in key)
    address = f"gs://{pipeline.bucket}/{key}"
    explained = pipeline.command("explain", address, timeout=120).expect(0)
    assert "ingested" in explained.stdout


def test_a_reconcile_finds_what_no_notification_announced(pipeline: GcsPipeline) -> None:
    pipeline.put("shop/lost.json", to_lines({"product": 9_000, "n": 1}))
    key = next(iter(sorted(pipeline.read_objects("shop/"))))
    pipeline.put(key, to_lines({"product": 9_001, "n": 1}))
    removed = sorted(pipeline.read_objects("shop/"))[-2]
    pipeline.remove(removed)
    assert pipeline.lose_notifications() >= 3
    pipeline.config["reconcile"] = {"settle_seconds": 0}
    pipeline.write_config()
    done = pipeline.read_json("reconcile")["reconcile"]
    assert (done["missing"], done["changed"], done["vanished"]) == (1, 1, 1)
    pipeline.run_once().expect(3)  # of before: records in quarantine
    assert pipeline.rows("shop", *COLUMNS["shop"]) == count_rows(
        read_rows(pipeline, "shop/"), COLUMNS["shop"]
    )
    pipeline.command("reconcile", "--dry-run", timeout=120).expect(0)


def test_status_and_doctor_know_the_subscription(pipeline: GcsPipeline) -> None:
    assert pipeline.read_json("status")["queue"] == {"visible": None, "in_flight": None, "error": None}
    doctor = pipeline.command("doctor", timeout=120)
    assert "source.subscription" in doctor.stdout
    assert pipeline.config["source"]["subscription"] in doctor.stdout


def test_a_missing_subscription_is_named(pipeline: GcsPipeline, tmp_path: Path) -> None:
    missing = pipeline.command("--set", "source.subscription=nothing-there", "run", "--once", timeout=120)
    missing.expect(1)
    assert "subscription projects/acme-test/subscriptions/nothing-there does not exist" in missing.stderr
    assert "source.subscription" in missing.stderr


POINTS = (
    "after_receive",
    "before_quarantine_commit",
    "before_events_commit",
    "after_events_commit",
    "mid_delete",
    "before_ingest_quarantine_commit",
    "before_data_commit",
    "after_data_commit",
    "before_ledger_commit",
)
COMMITS = ("events", "clicks", "orders", "shop")


def send_round(pipeline: GcsPipeline, at: int) -> None:
    """Objects of every table, a corrupt line, an overwrite, a removal, and a message that is none."""
    corrupt = "{broken\n" + to_lines({"id": 100, "page": str(at)})
    pipeline.put_all({f"clicks/{at}-{n}.json": to_lines({"id": n, "page": str(at)}) for n in range(20)})
    pipeline.put_all({f"orders/{n}.json": to_lines({"id": n, "ts": at}) for n in range(at, at + 3)})
    pipeline.put_all({f"shop/{n}.json": to_lines({"product": n, "n": at}) for n in range(at, at + 3)})
    pipeline.put(f"clicks/{at}-corrupt.json", corrupt)
    if at:
        pipeline.remove(f"shop/{at - 1}.json")
    pipeline.send(f"bad message of round {at}")


@pytest.mark.slow
def test_killed_anywhere_nothing_is_lost_and_nothing_is_twice(pubsub: PubSub, tmp_path: Path) -> None:
    with open_storage(tmp_path, pubsub) as storage:
        pipeline = GcsPipeline(storage, pubsub, tmp_path / "work", TABLES)
        for at, place in enumerate((*COMMITS, *POINTS)):
            send_round(pipeline, at)
            if place in POINTS:
                killed = pipeline.run_once(crash_point=place)
            else:
                running = pipeline.start("run", "--once")
                kill_during_commit(running, pipeline.path_of(place))
                killed = running.finish(10)
            assert killed.was_killed, f"{place}: {killed.stderr}"
        # What the killed runs hold returns; Pub/Sub has no depth by which the last run could see it.
        time.sleep(4 * pipeline.config["source"]["queue"]["ack_deadline"])
        pipeline.run_once().expect(3)
        pipeline.assert_every_event_is_once()
        for name in ("clicks", "shop"):
            rows = count_rows(read_rows(pipeline, f"{name}/"), COLUMNS[name])
            assert pipeline.rows(name, *COLUMNS[name]) == rows, name
        newest = {row["id"]: row["ts"] for row in read_rows(pipeline, "orders/")}
        assert pipeline.rows("orders", *COLUMNS["orders"]) == Counter(newest.items())
        levels = Counter(level for (level,) in pipeline.rows("quarantine", "level").elements())
        assert levels == {"message": len(POINTS) + len(COMMITS), "record": len(POINTS) + len(COMMITS)}
        pipeline.command("verify", "--deep", timeout=300).expect(0)
