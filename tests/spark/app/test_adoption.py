"""Adopted tables of jobs over Cloud Storage, folders and topics; rows that are no events."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.adoption.adoption import Adoption
from headwater.app.adoption.report import AdoptReport, AdoptRequest
from headwater.app.objects.verify import Verify
from headwater.config.settings import Settings
from headwater.errors import TableMismatchError, UsageError
from headwater.lake.jvm import save
from headwater.lake.layout import TableAddress
from headwater.lake.migration.upgrading import change_version
from headwater.lake.service_table import ServiceTable
from headwater.sources.kafka.ranges import Partition
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.memory_topics import MemoryTopics

THINGS = {"path": "**/*.json", "record_key": "id", "ordering": "at"}
OPTIONS = {
    "hoodie.table.name": "things",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.table.ordering.fields": "at",
    "hoodie.datasource.write.commitmeta.key.prefix": "",
}


def write_table(spark: SparkSession, lake: str, **metadata: str) -> None:
    """One commit of a job with two rows. The names of metadata have underscores for dots."""
    frame = spark.createDataFrame([("a", 1), ("b", 1)], "id string, at bigint")
    own = {name.replace("_", "."): text for name, text in metadata.items()}
    prefix = {"hoodie.datasource.write.commitmeta.key.prefix": next(iter(own), "none").partition(".")[0]}
    save(frame, f"{lake}/things", {**OPTIONS, **prefix, **own})


def write_events(spark: SparkSession, path: str, resources: Iterable[dict[str, Any]]) -> str:
    """One commit of GcsEventsSource; return its instant."""
    texts = [(json.dumps(resource),) for resource in resources]
    rows = spark.read.json(spark.createDataFrame(texts, "value string").rdd.map(lambda row: row[0]))
    options = {"hoodie.datasource.write.recordkey.field": "id", "hoodie.table.name": "meta"}
    save(rows, path, {**options, "hoodie.datasource.write.partitionpath.field": "bucket"})
    found = spark.read.format("hudi").load(path).selectExpr("max(_hoodie_commit_time)").first()
    assert found is not None
    return str(found[0])


def resource(name: str, generation: int) -> dict[str, Any]:
    created = f"2026-01-01T00:00:{generation % 60:02}.000Z"
    found = {
        "bucket": "landing",
        "name": name,
        "generation": str(generation),
        "size": "7",
        "timeCreated": created,
    }
    return {**found, "id": f"landing/{name}/{generation}"}


def adopt(spark: SparkSession, lake: str, source: dict[str, Any], **given: Any) -> tuple[App, AdoptReport]:
    settings = {"source": source, "lake": lake, "tables": {"things": {**THINGS, **given.pop("table", {})}}}
    app = App(Settings.model_validate(settings), spark=spark)
    topics = given.pop("topics", None)
    adoption = Adoption(app, AdoptRequest(**given), open_topics=lambda _: topics)
    return app, adoption.run()


def list_pending(app: App) -> list[str]:
    page = app.events.read_after(app.load_progress("things").checkpoint, 100)
    return [stored.event.key for stored in page.events]


@pytest.fixture(scope="module")
def old_events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """Two commits of an old events table, which no test changes: its address, and their instants."""
    path = str(tmp_path_factory.mktemp("old") / "meta")
    first = write_events(spark, path, [resource(name, 1) for name in ("x/b.json", "x/a.json", "x/c.json")])
    second = write_events(
        spark, path, [resource("x/a.json", 2), {**resource("x/bad.json", 3), "timeCreated": "?"}]
    )
    return path, first, second


GCS = {"type": "gcs", "bucket": "landing"}


@pytest.mark.slow
def test_events_of_cloud_storage_are_divided_in_the_order_of_their_names(
    spark: SparkSession, lake: str, old_events: tuple[str, str, str]
) -> None:
    path, first, _ = old_events
    write_table(spark, lake, deltastreamer_checkpoint_key=f"{first}#x/b.json")
    app, report = adopt(spark, lake, GCS, events=f"{path}/")
    assert list_pending(app) == ["x/c.json", "x/a.json"]
    assert report.events is not None
    assert (report.events.events, report.events.rejected) == (4, 1)
    (table,) = report.tables
    assert (table.processed, table.pending) == (2, 3)
    (bad,) = spark.read.format("hudi").load(f"{lake}/_headwater/quarantine").collect()
    assert (bad["level"], bad["stage"], bad["reason"]) == ("message", "capture", "missing_field")
    assert "x/bad.json" in bad["payload"]


@pytest.mark.parametrize(
    ("key", "pending"),
    [
        ("first", 1),
        pytest.param("none", 4, marks=pytest.mark.slow),
        pytest.param("second", 0, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_a_checkpoint_between_commits_covers_whole_commits(
    spark: SparkSession, lake: str, old_events: tuple[str, str, str], key: str, pending: int
) -> None:
    path, first, second = old_events
    write_table(spark, lake, other_key="1")
    text = {"none": "000", "first": first, "second": second}[key]
    with pytest.raises(UsageError, match="no commit has a checkpoint of HoodieStreamer"):
        adopt(spark, lake, GCS, events=path, tables=("things",))
    app, _ = adopt(spark, lake, GCS, events=path, tables=("things",), checkpoints={"things": text})
    assert len(list_pending(app)) == pending


def test_files_of_a_folder_are_taken_from_the_time_of_the_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = FolderLake(spark, tmp_path, things=THINGS)
    write_table(spark, folder.lake, deltastreamer_checkpoint_key="1767225600250")
    source = {"type": "local", "path": str(folder.source)}
    with pytest.raises(TableMismatchError, match="HoodieStreamer wrote the existing table"):
        folder.ingest("things")
    with pytest.raises(UsageError, match="set `modified_after: 2026-01-01T00:00:00Z`"):
        adopt(spark, folder.lake, source)
    after = {"modified_after": "2026-01-01T00:00:00Z"}
    _, report = adopt(spark, folder.lake, source, table=after)
    assert [one.status for one in report.tables] == ["adopted"]
    folder.change("things", **after)
    for name, seconds in (("old", 1767225500), ("new", 1767225700)):
        folder.write(f"{name}.json", json.dumps({"id": name, "at": 2}))
        os.utime(folder.source / f"{name}.json", (seconds, seconds))
        folder.announce(f"{name}.json")
    folder.ingest("things")
    assert folder.rows("things", "id", "at") == [("a", 1), ("b", 1), ("new", 2)]


@pytest.mark.slow
def test_rows_with_generated_keys_are_only_added(spark: SparkSession, tmp_path: Path) -> None:
    generated = {"path": "**/*.json", "generated_keys": True, "modified_after": "2026-01-01T00:00:00Z"}
    folder = FolderLake(spark, tmp_path, things=generated)
    without_key = {
        name: text for name, text in OPTIONS.items() if "recordkey" not in name and "ordering" not in name
    }
    checkpoint = {"hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer"}
    checkpoint |= {"deltastreamer.checkpoint.key": "1767225600250"}
    frame = spark.createDataFrame([("a", 1), ("a", 1)], "id string, at bigint")
    options = {**without_key, **checkpoint, "hoodie.datasource.write.operation": "insert"}
    save(frame, f"{folder.lake}/things", options)
    Adoption(App(folder.settings, spark=spark), AdoptRequest()).run()
    for name, seconds in (("old", 1767225500), ("new", 1767225700)):
        folder.write(f"{name}.json", json.dumps({"id": name, "at": 2}))
        os.utime(folder.source / f"{name}.json", (seconds, seconds))
    folder.announce("old.json", "new.json")
    assert Verify(App(folder.settings, spark=spark)).run().tables["things"].counts.pending == 1
    folder.ingest("things")
    assert folder.rows("things", "id", "at") == [("a", 1), ("a", 1), ("new", 2)]
    counts = Verify(App(folder.settings, spark=spark)).run().tables["things"].counts
    assert (counts.ingested, counts.is_complete) == (1, True)


@pytest.mark.slow
def test_the_key_generator_of_the_table_is_needed_to_find_its_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    generator = {"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator"}
    things = {**THINGS, "partition": "day", "modified_after": "2026-01-01T00:00:00Z"}
    folder = FolderLake(spark, tmp_path, things=things)
    options = {
        **OPTIONS,
        **generator,
        "hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer",
        "hoodie.datasource.write.partitionpath.field": "day",
        "hoodie.datasource.write.hive_style_partitioning": "true",
    }
    frame = spark.createDataFrame([("a", 1, "d1"), ("b", 1, "d2")], "id string, at bigint, day string")
    save(frame, f"{folder.lake}/things", {**options, "deltastreamer.checkpoint.key": "1767225600250"})
    with pytest.raises(UsageError, match="the key generator is complex in the table and simple in the conf"):
        Adoption(App(folder.settings, spark=spark), AdoptRequest()).plan()
    folder.change("things", hoodie=generator)
    Adoption(App(folder.settings, spark=spark), AdoptRequest()).run()
    folder.put("new.json", json.dumps({"id": "a", "at": 2, "day": "d1"}))
    folder.ingest("things")
    assert folder.rows("things", "id", "at", "day") == [("a", 2, "d1"), ("b", 1, "d2")]


@pytest.mark.slow
def test_a_table_without_an_ordering_is_continued_by_commit_time(spark: SparkSession, tmp_path: Path) -> None:
    by_commit = {"path": "**/*.json", "record_key": "id", "merge_mode": "commit_time"}
    folder = FolderLake(spark, tmp_path, things={**by_commit, "modified_after": "2026-01-01T00:00:00Z"})
    options = {name: text for name, text in OPTIONS.items() if "ordering" not in name}
    options |= {"hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer"}
    frame = spark.createDataFrame([("a", 9), ("b", 9)], "id string, at bigint")
    save(frame, f"{folder.lake}/things", {**options, "deltastreamer.checkpoint.key": "1767225600250"})
    Adoption(App(folder.settings, spark=spark), AdoptRequest()).run()
    folder.put("first.json", json.dumps({"id": "a", "at": 1}))
    folder.ingest("things")
    folder.put("second.json", json.dumps({"id": "a", "at": 0}))
    folder.ingest("things")
    assert folder.rows("things", "id", "at") == [("a", 0), ("b", 9)]


@pytest.mark.slow
def test_a_table_of_an_older_version_is_upgraded_first(spark: SparkSession, tmp_path: Path) -> None:
    folder = FolderLake(spark, tmp_path, things={**THINGS, "modified_after": "2026-01-01T00:00:00Z"})
    older = {
        "hoodie.write.table.version": "6",
        "hoodie.datasource.write.commitmeta.key.prefix": "deltastreamer",
    }
    frame = spark.createDataFrame([("a", 1), ("b", 1)], "id string, at bigint")
    options = {**OPTIONS, "hoodie.datasource.write.precombine.field": "at", **older}
    save(frame, f"{folder.lake}/things", {**options, "deltastreamer.checkpoint.key": "1767225600250"})
    adoption = Adoption(App(folder.settings, spark=spark), AdoptRequest())
    with pytest.raises(UsageError, match=r"version 6.*run `headwater table things upgrade` first"):
        adoption.plan()
    change_version(ServiceTable(spark, TableAddress("things", f"{folder.lake}/things")), "upgrade", None)
    assert [one.status for one in adoption.run().tables] == ["adopted"]
    folder.put("new.json", json.dumps({"id": "b", "at": 2}))
    folder.ingest("things")
    assert folder.rows("things", "id", "at") == [("a", 1), ("b", 2)]


def test_partitions_of_a_topic_begin_at_the_offsets_of_the_checkpoint(spark: SparkSession, lake: str) -> None:
    write_table(spark, lake, deltastreamer_checkpoint_key="orders,0:4,1:0")
    topics = MemoryTopics({Partition("orders", 0): 10, Partition("orders", 1): 0})
    source = {"type": "kafka", "bootstrap": ["localhost:1"], "topics": ["orders"], "cluster": "shop"}
    table = {"path": "orders/**", "format": "json"}
    with pytest.raises(UsageError, match="its checkpoint is of a source of type kafka"):
        adopt(spark, lake, GCS)
    app, _ = adopt(spark, lake, source, table=table, topics=topics)
    assert list_pending(app) == [f"orders/0/{4:020}", f"orders/1/{0:020}"]
    assert adopt(spark, lake, source, table=table, topics=topics)[1].tables[0].status == "adopted before"
