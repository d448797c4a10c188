"""Files of others become a table that runs go on with; the rows are those of the files, all the way."""

import json

import pytest
from pyspark.sql import functions as F

from headwater.app import App
from headwater.app.objects.verify import Verify
from headwater.app.services.bootstrap import bootstrap_table
from headwater.errors import TableMismatchError, UsageError
from headwater.lake.layout import TableAddress, table_path
from headwater.lake.migration.bootstrap_plan import BootstrapRequest
from headwater.lake.migration.bootstrapping import plan_bootstrap
from headwater.lake.service_table import ServiceTable
from headwater.lake.sql.engine import run_query
from headwater.lake.sql.spark import run_on_spark
from headwater.lake.table import Table
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow

ORC_READER = "spark.sql.orc.enableVectorizedReader"
MERGE = {"path": "*.json", "record_key": "id", "ordering": "at"}


def build_rows(spark):
    return spark.range(30).select(
        F.col("id").cast("string").alias("id"),
        F.lit(1).cast("bigint").alias("at"),
        (F.col("id") / 2).alias("amount"),
        F.concat(F.lit("d"), F.col("id") % 3).alias("day"),
    )


def read(table):
    found = table.read().select("id", "at", "amount", "day").collect()
    return sorted(tuple(row) for row in found)


@pytest.mark.parametrize(
    ("changes", "request_of", "stays"),
    [
        pytest.param({}, BootstrapRequest, 3, id="metadata-only"),
        *(
            pytest.param(*case, id=name, marks=pytest.mark.long)
            for name, case in {
                "metadata-only, merge-on-read": ({"table_type": "merge_on_read"}, BootstrapRequest, 3),
                "full-record": ({}, lambda source: BootstrapRequest(source, "full_record"), 0),
                "by partition": ({}, lambda source: BootstrapRequest(source, "full_record", "day=d1"), 2),
                "ORC, full-record": (
                    {"base_file_format": "orc"},
                    lambda source: BootstrapRequest(source, "full_record"),
                    0,
                ),
            }.items()
        ),
    ],
)
def test_bootstrapped_rows_equal_the_files_and_a_run_continues(
    spark, tmp_path, request, changes, request_of, stays
):
    spark.conf.set(ORC_READER, "false")
    request.addfinalizer(lambda: spark.conf.unset(ORC_READER))
    config = {**MERGE, "partition": "day", **changes}
    files = tmp_path / "files"
    rows = build_rows(spark).coalesce(1)
    rows.write.partitionBy("day").format(changes.get("base_file_format", "parquet")).save(str(files))
    lake = FolderLake(spark, tmp_path, {"config": {ORC_READER: "false"}}, t=config)
    path = table_path(lake.lake, "t")
    services = ServiceTable(spark, TableAddress("t", path))
    asked = request_of(str(files))

    plan = plan_bootstrap(services, lake.settings.tables["t"], asked)
    assert (plan.rows, len(plan.partitions)) == (30, 3)
    assert sum(found.mode == "metadata_only" for found in plan.partitions) == stays
    assert not (tmp_path / "lake/t").exists()

    assert bootstrap_table(services, lake.settings.tables["t"], asked, lake.lake) == plan
    table = Table(spark, path)
    expected = sorted(tuple(row) for row in rows.select("id", "at", "amount", "day").collect())
    assert read(table) == expected
    assert table.read().select("_hoodie_record_key").distinct().count() == 30
    query = "select count(amount) as n, sum(amount) as s from t"
    found = run_query(query, {"t": path}, fallback=lambda sql, tables: run_on_spark(spark, sql, tables))
    assert [tuple(row.values()) for row in found.rows] == [(30, 217.5)]

    changed = [{"id": "4", "at": 2, "amount": 100.0, "day": "d1"}, {"id": "5", "at": 0, "day": "d2"}]
    lake.put("a.json", "\n".join(map(json.dumps, [*changed, {"id": "new", "at": 1, "day": "d0"}])))
    lake.ingest("t")
    kept = [row for row in expected if row[0] != "4"]
    assert read(table) == sorted([*kept, ("4", 2, 100.0, "d1"), ("new", 1, None, "d0")], key=lambda r: r[0])


@pytest.mark.long
def test_files_that_would_make_a_wrong_table_are_refused_before_anything_is_written(spark, tmp_path):
    files = tmp_path / "files"
    rows = build_rows(spark).drop("day").coalesce(1)
    rows.union(rows.where("id = '7'")).write.parquet(str(files))
    lake = FolderLake(spark, tmp_path, t=MERGE)
    services = ServiceTable(spark, TableAddress("t", table_path(lake.lake, "t")))
    config = lake.settings.tables["t"]
    with pytest.raises(UsageError, match="1 of 31 rows have the key of another"):
        bootstrap_table(services, config, BootstrapRequest(str(files)), lake.lake)
    rows.withColumn("id", F.when(F.col("id") != "3", F.col("id"))).write.mode("overwrite").parquet(str(files))
    with pytest.raises(UsageError, match="1 rows have no id"):
        bootstrap_table(services, config, BootstrapRequest(str(files)), lake.lake)
    with pytest.raises(UsageError, match=r"the table at \S+ overlap"):
        bootstrap_table(services, config, BootstrapRequest(lake.lake), lake.lake)
    assert not (tmp_path / "lake/t").exists()
    rows.write.mode("overwrite").parquet(str(files))
    bootstrap_table(services, config, BootstrapRequest(str(files)), lake.lake)
    with pytest.raises(TableMismatchError, match="already contains a table"):
        bootstrap_table(services, config, BootstrapRequest(str(files)), lake.lake)


def test_a_bootstrapped_table_begins_where_it_is_configured_to(spark, tmp_path):
    files = tmp_path / "files"
    build_rows(spark).drop("day").coalesce(1).write.parquet(str(files))
    lake = FolderLake(spark, tmp_path, t={**MERGE, "start_from": "latest"})
    lake.put("old.json", json.dumps({"id": "4", "at": 2, "amount": 100.0}))
    services = ServiceTable(spark, TableAddress("t", table_path(lake.lake, "t")))
    bootstrap_table(services, lake.settings.tables["t"], BootstrapRequest(str(files)), lake.lake)
    # Before any batch, no row has an object.
    assert Verify(App(lake.settings, spark=spark)).run().tables["t"].counts.skipped == 1
    lake.put("new.json", json.dumps({"id": "5", "at": 2, "amount": 100.0}))
    lake.ingest("t")
    assert [row[0] for row in lake.rows("t", "id", "at") if row[1] == 2] == ["5"]
