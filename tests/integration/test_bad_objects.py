"""One batch with every kind of bad object and message: each has its reason, and the good ones are rows."""

import gzip
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fixtures.end_to_end.command import Finished
from tests.fixtures.end_to_end.faulty_proxy import Fault, run_faulty_proxy, s3_error
from tests.fixtures.end_to_end.pipeline import Pipeline
from tests.fixtures.notification_bodies import s3_record

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TABLES = {
    "clicks": {"path": "clicks/**", "format": "json", "schema": "n bigint"},
    "zipped": {"path": "zipped/*.json.gz"},
    "items": {"path": "items/*.parquet", "schema": "id bigint, price double"},
    "crowd": {"path": "crowd/*.json"},
}
CROWD = 130


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


OBJECTS: dict[str, bytes | str] = {
    **{f"clicks/good-{at}.json": json.dumps({"n": at}) + "\n" for at in range(4)},
    "clicks/empty.json": "",
    "clicks/folder/": "",
    "clicks/forbidden.json": '{"n": 666}',
    "clicks/binary.json": bytes(range(128, 256)) * 20,
    "clicks/half.json": '{"n": 10}\n{"n": "eleven"}\n{"n": 12}\n',
    "zipped/good.json.gz": gzip.compress(b'{"n": 1}\n{"n": 2}\n'),
    "zipped/truncated.json.gz": gzip.compress(json.dumps({"n": "x" * 5_000}).encode())[:-12],
    "zipped/plain.json.gz": '{"n": 3}\n',
    "items/good.parquet": parquet(id=[1, 2], price=[0.5, 1.5]),
    "items/wrong-schema.parquet": parquet(id=["not a number"], price=[1.0]),
    "items/cut.parquet": parquet(id=[3], price=[2.5])[:-6],
    "items/not.parquet": "PAR1 and nothing behind it",
}


def forbid(method: str, target: str) -> Fault | None:
    return s3_error(403, "AccessDenied") if "forbidden" in target and method in ("GET", "HEAD") else None


def build_crowded_body(pipeline: Pipeline) -> str:
    """One message of more than 64 KB: good records with a bad one among them."""
    stored = pipeline.put_quietly({f"crowd/{at}.json": json.dumps({"n": at}) + "\n" for at in range(CROWD)})
    records = [json.loads(pipeline.describe(one, f"{at:04x}"))["Records"][0] for at, one in enumerate(stored)]
    for record in records:
        record["requestParameters"] = {"sourceIPAddress": "x" * 200}
    broken = s3_record(object_={"key": "crowd/broken.json"}, eventTime="yesterday")
    body = json.dumps({"Records": [*records[:60], broken, *records[60:]]})
    assert len(body) > 64 * 1024
    return body


@dataclass(frozen=True)
class Outcome:
    pipeline: Pipeline
    run: Finished
    crowded_id: str

    def find_objects(self, key: str) -> list[dict[str, Any]]:
        return [item for item in self.pipeline.records("quarantine") if item["key"] == key]

    def find_decisions(self, key: str) -> list[tuple[str, str]]:
        rows = self.pipeline.records("ledger")
        return [(row["status"], row["reason"]) for row in rows if row["key"] == key]


@pytest.fixture(scope="module")
def outcome(emulator, tmp_path_factory) -> Iterator[Outcome]:
    with run_faulty_proxy(emulator.endpoint) as proxy:
        proxy.find_fault = forbid
        pipeline = Pipeline(emulator, tmp_path_factory.mktemp("bad-objects"), TABLES, endpoint=proxy.endpoint)
        (crowded_id,) = pipeline.send(build_crowded_body(pipeline))
        pipeline.put_all(OBJECTS)
        yield Outcome(pipeline, pipeline.run_once().expect(3), crowded_id)


def test_good_objects_among_bad_ones_are_ingested(outcome):
    pipeline = outcome.pipeline
    assert pipeline.rows("clicks", "n") == Counter([(0,), (1,), (2,), (3,), (10,), (12,)])
    assert pipeline.rows("zipped", "n") == Counter([(1,), (2,)])
    assert pipeline.rows("items", "id", "price") == Counter([(1, 0.5), (2, 1.5)])


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("clicks/forbidden.json", "forbidden"),
        ("clicks/binary.json", "unparsable"),
        ("zipped/truncated.json.gz", "unparsable"),
        ("zipped/plain.json.gz", "unparsable"),
        ("items/wrong-schema.parquet", "schema"),
        ("items/cut.parquet", "unparsable"),
        ("items/not.parquet", "unparsable"),
    ],
)
def test_bad_object_is_in_quarantine_with_its_reason(outcome, key, reason):
    (item,) = outcome.find_objects(key)
    assert (item["level"], item["stage"], item["reason"]) == ("object", "ingest", reason)
    assert item["detail"]
    assert outcome.find_decisions(key) == [("quarantined", reason)]


@pytest.mark.parametrize(
    ("key", "reason"), [("clicks/empty.json", "empty_object"), ("clicks/folder/", "folder_marker")]
)
def test_object_without_content_is_skipped_with_its_reason(outcome, key, reason):
    assert outcome.find_objects(key) == []
    assert outcome.find_decisions(key) == [("skipped", reason)]


def test_corrupt_line_is_in_quarantine_with_its_number_and_text(outcome):
    (item,) = outcome.find_objects("clicks/half.json")
    assert (item["level"], item["line"], item["payload"]) == ("record", 2, '{"n": "eleven"}')


def test_big_body_of_many_records_loses_exactly_the_bad_one(outcome):
    assert outcome.pipeline.rows("crowd", "n") == Counter((at,) for at in range(CROWD))
    (item,) = [i for i in outcome.pipeline.records("quarantine") if i["message_id"] == outcome.crowded_id]
    assert (item["level"], item["record_index"]) == ("record", 60)


def test_all_messages_are_acknowledged(outcome):
    assert outcome.pipeline.queue_depth() == (0, 0)


def test_quarantine_list_and_show_print_reason_and_address(outcome):
    listed = outcome.pipeline.read_json_lines("quarantine", "list")
    found = {item["key"]: item for item in listed if item["level"] == "object"}
    item = found["clicks/forbidden.json"]
    assert item["reason"] == "forbidden"
    shown = outcome.pipeline.read_json("quarantine", "show", item["quarantine_id"])
    assert "clicks/forbidden.json" in json.dumps(shown)


def test_no_traceback_is_printed(outcome):
    assert "Traceback" not in outcome.run.stderr + outcome.run.stdout
