"""Large objects in Cloud Storage: read in splits, they become the same rows as read whole."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.errors import IngestError
from headwater.ingest.reading.large_objects import LargeObjectReader, LargeRead
from headwater.ingest.reading.resolution import ReadRequest
from headwater.sources.object_event import ObjectEvent, build_order_key
from tests.fixtures.end_to_end.gcs_pipeline import GcsPipeline
from tests.fixtures.event_lake import EventLake
from tests.fixtures.google import PubSub, Storage, open_storage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

COUNT = 3_000
JSON = "".join(json.dumps({"n": n, "text": f"é{n}" + "x" * 60}) + "\n" for n in range(COUNT))
CSV = "n,text\r\n" + "".join(f'{n},"a, ""{n}"""\r\n' for n in range(COUNT))
ODD_KEYS = ("a b+%41#?[x]{y}*ü'.json", "q/a:b.json", "x%2Fy.json", " space /é.json", "back\\slash.json")
# Hadoop's paths cannot name these, and Spark takes the last one for no data.
NO_PATHS = ("a//b.json", "a/./b.json", "/a.json", "_hidden.json")
SMALL = '{"n": 1}\n' * 200


class GcsLake(EventLake):
    """A local lake over a bucket of Cloud Storage."""

    def __init__(self, spark: SparkSession, storage: Storage, folder: Path, **tables: Any) -> None:
        source = {
            "type": "gcs",
            "bucket": storage.bucket,
            "endpoint": storage.endpoint,
            "file_system_scheme": "gs",
        }
        super().__init__(spark, folder, source, tables)
        self._storage = storage

    def put(self, key: str, text: str) -> ObjectEvent:
        """Write an object; return the event that names it."""
        blob = self._storage.put(key, text.encode())
        generation = str(blob.generation)
        return ObjectEvent(
            provider="gcs",
            bucket=self._storage.bucket,
            key=key,
            version_id=generation,
            sequencer=generation,
            order_key=build_order_key(generation),
            kind="created",
            event_name="OBJECT_FINALIZE",
            event_time=datetime.now(timezone.utc),
            size=len(text.encode()),
            etag=generation,
        )


@pytest.fixture
def build(spark: SparkSession, gcs: Storage, tmp_path: Path) -> Iterator[Callable[..., GcsLake]]:
    # A run has these from `build_spark_settings`; the server of this test started after the session.
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.gs.storage.root.url", f"{gcs.endpoint}/")
    hadoop.set("fs.gs.auth.service.account.enable", "false")
    hadoop.set("fs.gs.auth.null.enable", "true")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "65536")
    yield lambda **tables: GcsLake(spark, gcs, tmp_path, **tables)
    spark.conf.unset("spark.sql.files.maxPartitionBytes")


@pytest.fixture
def on_split(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[LargeRead], None]]:
    """Functions that are called after a scan, before its splits become rows."""
    callbacks: list[Callable[[LargeRead], None]] = []
    read = LargeObjectReader.read

    def read_and_report(self: LargeObjectReader, requests: Sequence[ReadRequest]) -> LargeRead:
        found = read(self, requests)
        for callback in callbacks:
            callback(found)
        return found

    monkeypatch.setattr(LargeObjectReader, "read", read_and_report)
    return callbacks


@pytest.mark.parametrize(
    ("table", "objects", "split"),
    [
        ({"path": "**/*.json"}, {"big.json": JSON}, {"big.json"}),
        ({"path": "**/*.csv", "options": {"header": True}}, {"big.csv": CSV}, {"big.csv"}),
        ({"path": "**/*.json"}, dict.fromkeys(ODD_KEYS, SMALL), set(ODD_KEYS)),
        ({"path": "**/*.json"}, dict.fromkeys((*NO_PATHS, "a.json"), SMALL), {"a.json"}),
    ],
    ids=["json", "csv", "odd-keys", "no-paths"],
)
def test_objects_read_in_splits_equal_those_read_whole(build, on_split, table, objects, split):
    lake = build(split=table | {"large_file_bytes": "1kb"}, whole=table)
    found: set[str] = set()
    on_split.append(lambda read: found.update(request.ref.key for request in read.split))
    lake.announce(*(lake.put(key, text) for key, text in objects.items()))
    results = {name: [dict(batch.objects) for batch in lake.ingest(name)] for name in ("split", "whole")}
    assert found == split
    columns = ("_headwater_object", "_headwater_row", "_headwater_version", "n")
    assert results["split"] == results["whole"] == [{"ingested": len(objects)}]
    assert lake.rows("split", *columns) == lake.rows("whole", *columns)
    assert len(lake.rows("split", "n")) == len(objects) * (200 if SMALL in objects.values() else COUNT)


def test_generation_that_was_overwritten_is_superseded_and_its_successor_is_read(build, on_split):
    lake = build(big={"path": "*.json", "large_file_bytes": "1kb"})
    found: list[str | None] = []
    on_split.append(lambda read: found.extend(request.ref.version_id for request in read.split))
    first, second = lake.put("a.json", SMALL), lake.put("a.json", SMALL.replace("1", "2"))
    lake.announce(first)
    assert [dict(batch.objects) for batch in lake.ingest("big")] == [{"superseded": 1}]
    lake.announce(second)
    lake.ingest("big")
    assert found == [second.version_id]
    assert set(lake.rows("big", "n", "_headwater_version")) == {(2, second.version_id)}


def test_an_object_that_is_overwritten_while_it_is_read_fails_the_batch_and_is_read_again(build, on_split):
    lake = build(big={"path": "*.json", "large_file_bytes": "1kb"})
    lake.announce(lake.put("a.json", SMALL))
    later: list[ObjectEvent] = []
    on_split.append(lambda _: later.append(lake.put("a.json", SMALL.replace("1", "2"))))
    with pytest.raises(IngestError, match="was replaced while it was read"):
        lake.ingest("big")
    on_split.clear()
    lake.announce(*later)
    assert [dict(batch.objects) for batch in lake.ingest("big")] == [{"ingested": 1, "superseded": 1}]
    assert set(lake.rows("big", "n", "_headwater_version")) == {(2, later[-1].version_id)}


def test_a_run_needs_only_the_scheme(pubsub: PubSub, tmp_path: Path) -> None:
    with open_storage(tmp_path, pubsub) as storage:
        table = {"path": "**/*.json", "large_file_bytes": "1kb"}
        pipeline = GcsPipeline(storage, pubsub, tmp_path / "work", {"big": table})
        pipeline.config["source"]["file_system_scheme"] = "gs"
        pipeline.write_config()
        pipeline.put_all(dict.fromkeys(("big.json", *ODD_KEYS), JSON))
        run = pipeline.run_once(timeout=400).expect(0)
        assert "is read whole" not in run.stderr
        assert pipeline.rows("big", "n") == {(n,): 1 + len(ODD_KEYS) for n in range(COUNT)}
