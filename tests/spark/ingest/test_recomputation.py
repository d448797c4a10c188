"""Records that have to be computed again, as after the death of an executor, are those that were counted."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.capture.position import BEGINNING
from headwater.errors import ObjectsChangedError
from headwater.ingest.isolation.data_failure import is_data_failure
from headwater.ingest.planning.decision import Decision
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.reading.object_reader import ObjectReader, ReaderConfig, scan_records
from headwater.ingest.reading.recomputation import fail_if_changed
from headwater.ingest.reading.resolution import build_requests
from headwater.sources.object_store import ObjectStoreConfig
from tests.fixtures.folder_lake import FolderLake

COUNT = 70  # more than are fetched in the driver, so that records are computed when they are needed


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> FolderLake:
    lake = FolderLake(spark, tmp_path, numbers={"path": "*.json", "schema": "n bigint"})
    lake.put_many((f"{number:02d}.json", f'{{"n": {number}}}\n') for number in range(COUNT))
    return lake


def read(lake: FolderLake) -> tuple[DataFrame, DataFrame]:
    """The persisted records of all objects, and what a batch writes of them."""
    table, spark = lake.settings.tables["numbers"], lake.app.spark
    schema = spark.range(1).selectExpr("id as n").schema
    config = ReaderConfig(
        ObjectStoreConfig("local"), table.effective_format, table.options, schema, 2**20, 2**20
    )
    events = lake.app.events.read_after(BEGINNING, 1_000).events
    requests = build_requests([Decision(stored, "read") for stored in events])
    # As in a second attempt: indexes do not begin with 0.
    requests = [replace(request, object_index=1_000_000 + request.object_index) for request in requests]
    records = ObjectReader(spark, config).read(requests)
    assert not records.is_at_hand
    frame = records.frame.persist()
    return frame, fail_if_changed(frame, scan_records(records).objects)


def list_numbers(records: DataFrame) -> list[int]:
    with explained_read("numbers"):
        rows = records.where(F.col("outcome").isNull()).select("record.n").collect()
    return sorted(row["n"] for row in rows)


def test_records_that_are_computed_again_are_the_same_as_long_as_their_objects_are(lake: FolderLake) -> None:
    frame, records = read(lake)
    assert list_numbers(records) == list(range(COUNT))
    frame.unpersist(blocking=True)
    assert list_numbers(records) == list(range(COUNT))


@pytest.mark.parametrize("change", ["overwritten", "removed"])
def test_job_fails_that_computes_records_of_a_changed_object_again(lake: FolderLake, change: str) -> None:
    frame, records = read(lake)
    if change == "removed":
        (lake.source / "07.json").unlink()
    else:
        lake.write("07.json", '{"n": 100}\n')
    assert list_numbers(records) == list(range(COUNT))
    frame.unpersist(blocking=True)
    with pytest.raises(ObjectsChangedError, match="table numbers: objects were read again") as raised:
        list_numbers(records)
    assert raised.value.hint == "the batch is retried, and then reads the current contents"
    # It says nothing of the rows: they are not searched for bad ones.
    assert raised.value.retryable
    assert not is_data_failure(raised.value)
