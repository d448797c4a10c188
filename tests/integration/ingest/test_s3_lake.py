"""A lake in a bucket: the command writes it through S3A, and status and sql read it without a JVM."""

import json
import uuid
from typing import Any

import pytest

from headwater.demo.emulator import REGION
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.end_to_end.pipeline import Pipeline

pytestmark = pytest.mark.slow

ODD = "big/a b+%41#ü.json"
LINES = 200


@pytest.fixture(scope="module")
def pipeline(emulator: EmulatorSession, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    tables: dict[str, Any] = {
        "orders": {"path": "orders/*.json", "record_key": "id", "ordering": "ts"},
        "big": {"path": "big/*.json", "large_file_bytes": "1kb"},
    }
    pipeline = Pipeline(emulator, tmp_path_factory.mktemp("s3-lake"), tables)
    # Large objects of a versioned bucket are read by Spark, which cannot ask for a version.
    emulator.clients.s3.put_bucket_versioning(
        Bucket=pipeline.bucket, VersioningConfiguration={"Status": "Enabled"}
    )
    lake = f"lake-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=lake)
    pipeline.config["lake"] = f"s3a://{lake}/bronze"
    pipeline.config["lake_storage"] = {"endpoint": emulator.endpoint, "region": REGION}
    pipeline.write_config()
    pipeline.put("orders/1.json", '{"id": 1, "ts": 1, "name": "a"}\n{"id": 2, "ts": 1, "name": "b"}\n')
    pipeline.put("orders/2.json", '{"id": 1, "ts": 2, "name": "newer"}\n')
    pipeline.put(ODD, "".join(json.dumps({"n": n, "text": "x" * 20}) + "\n" for n in range(LINES)))
    run = pipeline.run_once(timeout=400).expect(0)
    assert "is read whole" not in run.stderr
    return pipeline


@pytest.mark.timeout(600)
def test_status_reports_rows_and_commits(pipeline):
    tables = pipeline.read_json("status")["tables"]
    assert tables["orders"]["rows"] == 2
    assert tables["big"]["rows"] == LINES


def test_sql_reads_rows_of_small_objects(pipeline):
    assert pipeline.sql("select id, name from orders order by id") == [
        {"id": 1, "name": "newer"},
        {"id": 2, "name": "b"},
    ]


def test_sql_reads_rows_that_spark_split_with_their_numbers(pipeline):
    rows = pipeline.sql("select n, _headwater_row as r, _headwater_object as o from big order by n")
    assert [(row["n"], row["r"]) for row in rows] == [(n, n + 1) for n in range(LINES)]
    assert {row["o"] for row in rows} == {f"s3://{pipeline.bucket}/{ODD}"}


@pytest.mark.timeout(600)
def test_another_lake_follows_a_table_in_the_bucket(pipeline):
    config = dict(pipeline.config)
    source = f"{config['lake']}/orders"
    other = {"lake": f"{config['lake']}-other", "tables": {"copied": {"from": {"hudi": source}}}}
    pipeline.config |= other
    pipeline.write_config()
    try:
        pipeline.run_once(timeout=400).expect(0)
        assert pipeline.sql("select id, name from copied order by id") == [
            {"id": 1, "name": "newer"},
            {"id": 2, "name": "b"},
        ]
        assert pipeline.read_json("status")["tables"]["copied"]["follows"] == source
    finally:
        pipeline.config |= config
        pipeline.write_config()
