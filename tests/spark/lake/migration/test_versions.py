"""A table of an older version is taken to the newest and back, and reads the same all the way."""

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from headwater.errors import TableMismatchError
from headwater.lake.inspection.description import describe
from headwater.lake.jvm import list_file_sizes
from headwater.lake.layout import TableAddress
from headwater.lake.migration.upgrading import change_version
from headwater.lake.options import WriteOptions
from headwater.lake.service_table import ServiceTable
from headwater.lake.table import Table
from headwater.lake.typed_options.clustering import clustering_options

pytestmark = pytest.mark.slow

OLD = {"hoodie.write.table.version": "6"}
OPTIONS = WriteOptions("t", "upsert", record_key=("id",), ordering=("at",), extra=OLD)
NEW = replace(OPTIONS, extra={})
DDL = "id string, at long"


def read_rows(spark, path):
    return sorted((row["id"], row["at"]) for row in Table(spark, path).read().collect())


def write(spark, path, options, *rows):
    Table(spark, path).write(spark.createDataFrame(rows, DDL).coalesce(1), options)


@pytest.mark.parametrize(
    "table_type", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.long)]
)
def test_table_of_version_6_is_upgraded_written_and_taken_back(spark, tmp_path, table_type):
    path = str(tmp_path / "t")
    old, new = replace(OPTIONS, table_type=table_type), replace(NEW, table_type=table_type)
    write(spark, path, old, ("a", 1), ("b", 1))
    write(spark, path, old, ("a", 2))
    table = ServiceTable(spark, TableAddress("t", path))
    with pytest.raises(TableMismatchError, match="of version 6, but this write uses version 9") as caught:
        write(spark, path, new, ("c", 1))
    assert "headwater table NAME upgrade" in caught.value.hint

    done = change_version(table, "upgrade", None)
    assert (done.plan.before, done.plan.after, len(done.plan.steps)) == (6, 9, 3)
    changed = {change.name: (change.before, change.after) for change in done.properties}
    assert changed["hoodie.table.version"] == ("6", "9")
    assert read_rows(spark, path) == [("a", 2), ("b", 1)]
    assert describe(table.address, datetime.now(timezone.utc)).identity.table_version == 9
    assert change_version(table, "upgrade", None).plan.steps == ()

    write(spark, path, new, ("b", 3), ("c", 1))
    expected = [("a", 2), ("b", 3), ("c", 1)]
    assert read_rows(spark, path) == expected
    change_version(table, "downgrade", 6)
    assert read_rows(spark, path) == expected
    write(spark, path, old, ("d", 1))
    assert read_rows(spark, path) == [*expected, ("d", 1)]


def test_clustering_that_is_planned_is_pending_in_a_timeline_of_version_6(spark, tmp_path):
    path = str(tmp_path / "t")
    for at in (1, 2):
        write(spark, path, replace(OPTIONS, operation="bulk_insert", changelog=True), (str(at), at))
    table = ServiceTable(spark, TableAddress("t", path), OLD)
    with table.open_client(clustering_options((), "linear", 1_000_000, 10_000_000, ())) as client:
        planned = str(client.scheduleClustering(table.java.build_none()).get())
    timeline = table.load_timeline()
    assert timeline.list_pending("clustering") == (planned,)
    assert [commit.action for commit in timeline.commits] == ["commit", "commit"]
    assert planned not in {commit.requested for commit in timeline.commits}
    assert list_file_sizes(spark, f"{path}/.hoodie")[f"{planned}.replacecommit.requested"] > 0
