"""Two thousand objects through the whole product, against a plain reading of the bucket."""

import gzip
import io
import json
import random
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fixtures.end_to_end.command import Finished
from tests.fixtures.end_to_end.odd_keys import ODD_NAMES
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.end_to_end.product import Row, count_rows
from tests.fixtures.notification_bodies import s3_record

pytestmark = pytest.mark.timeout(900)

TABLES: dict[str, dict[str, Any]] = {
    "clicks": {"path": "clicks/**/*.json"},
    "readings": {"path": "readings/*.csv", "options": {"header": "true", "escape": '"'}},
    "items": {"path": "items/*.parquet"},
    "orders": {"path": "orders/*.jsonl.gz", "record_key": "order_id", "ordering": "revision"},
}
OBJECTS = 2_000
OVERWRITTEN = 40
POISON = 20
START = datetime(2026, 5, 1, 12, 30, tzinfo=timezone.utc)


def make_clicks(rng: random.Random, number: int) -> bytes:
    rows = [
        {
            "id": number * 10 + at,
            "page": rng.choice(["/", "/cart", "/ü"]),
            "spent": rng.random(),
            "tags": ["a", "b"][:at],
        }
        for at in range(rng.randint(1, 3))
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def make_readings(rng: random.Random, number: int) -> bytes:
    frame = pd.DataFrame(
        {
            "sensor": [f"s{number}", 'with "quotes", and commas'],
            "value": [rng.uniform(-5, 5), rng.uniform(-5, 5)],
            "count": [rng.randrange(100), number],
        }
    )
    return frame.to_csv(index=False).encode()


def make_items(rng: random.Random, number: int) -> bytes:
    table = pa.table(
        {
            "item_id": pa.array([number, number + 1], pa.int64()),
            "title": ["plain", None],
            "price": pa.array([rng.random(), None], pa.float64()),
            "seen": pa.array([START + timedelta(microseconds=number)] * 2, pa.timestamp("us", "UTC")),
            "since": pa.array([date(2026, 1, 1), None], pa.date32()),
            "sizes": pa.array([[1, 2], []], pa.list_(pa.int32())),
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def make_orders(rng: random.Random, number: int) -> bytes:
    # Revisions are unique, so that every reader agrees on the last one of an order.
    rows = [
        {"order_id": rng.randrange(300), "revision": number * 10 + at, "state": rng.choice(["new", "paid"])}
        for at in range(2)
    ]
    return gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())


def build_objects() -> dict[str, bytes]:
    rng = random.Random(7)
    objects: dict[str, bytes] = {}
    makers = (
        ("clicks/day={day}/{name}.json", make_clicks, 800),
        ("readings/{name}.csv", make_readings, 400),
        ("items/{name}.parquet", make_items, 300),
        ("orders/{name}.jsonl.gz", make_orders, 500),
    )
    for pattern, make, count in makers:
        for number in range(count):
            name = ODD_NAMES[number] if number < len(ODD_NAMES) else f"part-{number:05d}"
            objects[pattern.replace("{day}", str(number % 9)).replace("{name}", name)] = make(rng, number)
    assert len(objects) == OBJECTS
    return objects


def build_poison(bucket: str) -> list[str]:
    """Bodies of which nothing can be used."""
    record = s3_record(object_={"key": "clicks/poison.json"})
    record["s3"]["bucket"]["name"] = bucket
    nameless = {**record, "eventName": None}
    keyless = {**record, "s3": {"bucket": {"name": bucket}, "object": {}}}
    kinds = ["{not json", "[1, 2", "null", '"text"', json.dumps({"hello": "world"}), "\x09", "{}"]
    kinds += [json.dumps({"Records": [broken]}) for broken in (nameless, keyless, 7)]
    return [kinds[at % len(kinds)] for at in range(POISON)]


@dataclass(frozen=True)
class Outcome:
    pipeline: Pipeline
    run: Finished
    objects: dict[str, bytes]
    poison_ids: list[str]
    duplicates: int


@pytest.fixture(scope="module")
def outcome(emulator, tmp_path_factory) -> Outcome:
    # Several commits of several tables: batches are small beside the number of messages.
    pipeline = Pipeline(
        emulator, tmp_path_factory.mktemp("end-to-end"), TABLES, queue={"max_messages_per_batch": 700}
    )
    tap = pipeline.create_tap()
    objects = build_objects()
    old = b'{"id": -1, "page": "old", "spent": 0.0, "tags": []}\n'
    overwritten = dict.fromkeys(list(objects)[100 : 100 + OVERWRITTEN], old)
    pipeline.put_all(overwritten)
    pipeline.put_all(objects)
    bodies = pipeline.drain(tap)
    rng = random.Random(11)
    repeated = rng.choices(bodies, k=200)
    mixed = [*bodies, *repeated, *(poison := build_poison(pipeline.bucket))]
    rng.shuffle(mixed)
    ids = pipeline.send(*mixed)
    poison_ids = [message_id for message_id, body in zip(ids, mixed, strict=True) if body in set(poison)]
    run = pipeline.run_once().expect(3)
    return Outcome(pipeline, run, objects, poison_ids, len(repeated))


def read_plainly(outcome: Outcome, table: str) -> list[dict[Any, Any]]:
    """What the bucket holds now, by boto3, pandas and pyarrow alone."""
    folder = TABLES[table]["path"].split("/")[0]
    bodies = outcome.pipeline.read_objects(f"{folder}/").values()
    if table == "items":
        return [row for body in bodies for row in pq.read_table(io.BytesIO(body)).to_pylist()]
    if table == "readings":
        return [
            row
            for body in bodies
            for row in pd.read_csv(io.BytesIO(body), float_precision="round_trip").to_dict("records")
        ]
    compression: Literal["gzip"] | None = "gzip" if table == "orders" else None
    frames = [
        pd.read_json(io.BytesIO(body), lines=True, compression=compression, precise_float=True)
        for body in bodies
    ]
    frame = pd.concat(frames, ignore_index=True)
    if table == "orders":
        frame = frame.sort_values("revision").drop_duplicates("order_id", keep="last")
    return frame.to_dict("records")


def assert_equals_bucket(outcome: Outcome, table: str) -> None:
    found: Counter[Row] = outcome.pipeline.rows(table)
    wanted = count_rows(read_plainly(outcome, table))
    assert wanted
    assert (found - wanted, wanted - found) == (Counter(), Counter()), "extra rows, missing rows"


def test_json_lines_become_the_rows_that_pandas_reads(outcome):
    assert_equals_bucket(outcome, "clicks")


def test_csv_becomes_the_rows_that_pandas_reads(outcome):
    assert_equals_bucket(outcome, "readings")


def test_parquet_becomes_the_rows_that_pyarrow_reads(outcome):
    assert_equals_bucket(outcome, "items")


def test_merged_gzipped_json_holds_the_last_revision_of_each_order(outcome):
    assert_equals_bucket(outcome, "orders")


def test_every_object_has_its_events_and_none_is_there_twice(outcome):
    events = outcome.pipeline.records("events")
    assert {event["key"] for event in events} == set(outcome.objects)
    assert len(events) == OBJECTS + OVERWRITTEN
    outcome.pipeline.assert_every_event_is_once()


def test_quarantine_holds_exactly_the_poison(outcome):
    listed = outcome.pipeline.read_json_lines("quarantine", "list")
    assert Counter(item["message_id"] for item in listed) == Counter(outcome.poison_ids)
    assert {item["level"] for item in listed} <= {"message", "record"}


def test_queue_is_empty_at_the_end(outcome):
    assert outcome.pipeline.queue_depth() == (0, 0)


def test_status_counts_rows_and_events(outcome):
    status = outcome.pipeline.read_json("status")
    assert status["events"]["rows"] == OBJECTS + OVERWRITTEN
    assert status["events"]["last_commit"]
    assert status["quarantine"]["messages"] + status["quarantine"]["records"] == POISON
    assert status["quarantine"]["objects"] == 0
    for name in TABLES:
        table = status["tables"][name]
        assert table["rows"] == sum(outcome.pipeline.rows(name).values())
        assert table["commits"] >= 1
        assert table["checkpoint"]
        assert table["lag_events"] == 0
        assert table["lag_seconds"] == 0


def test_sql_reads_data_tables_and_own_tables(outcome):
    pipeline = outcome.pipeline
    (row,) = pipeline.sql("select count(*) as n, max(revision) as newest from orders")
    orders = pipeline.records("orders")
    assert row == {"n": len(orders), "newest": max(order["revision"] for order in orders)}
    (row,) = pipeline.sql("select count(distinct event_id) as n from events")
    assert row == {"n": OBJECTS + OVERWRITTEN}
    (row,) = pipeline.sql("select count(*) as n from quarantine")
    assert row == {"n": POISON}


def test_a_further_run_changes_nothing(outcome):
    before = {name: outcome.pipeline.rows(name) for name in TABLES}
    again = outcome.pipeline.run_once()
    assert "Traceback" not in again.expect(0, 3).stderr
    assert {name: outcome.pipeline.rows(name) for name in TABLES} == before
