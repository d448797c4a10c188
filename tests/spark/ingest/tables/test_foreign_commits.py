"""Commits of another writer between ours, with nothing of ours in them: ours go on where they were."""

import pytest

from headwater.lake.layout import TableAddress
from headwater.lake.options import DELETED
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.archiving import archive
from headwater.lake.services.cleaning import CleanPolicy, clean
from headwater.lake.services.savepoints import create_savepoint, restore

pytestmark = pytest.mark.slow

MODES = {
    "merge": {"path": "*.json", "record_key": "id", "ordering": "ts"},
    "append": {"path": "*.json"},
    "mirror": {"path": "*.json", "mode": "mirror"},
}
LOGGED = {"table_type": "merge_on_read"}


def put(lake, *numbers):
    """An object a number, with one row; gives what the next batches did."""
    for n in numbers:
        lake.put(f"{n}.json", f'{{"id": {n}, "ts": {n}}}\n')
    results = lake.ingest("t")
    return sum(result.objects["ingested"] for result in results)


def write_external(lake, spark, mode, *numbers):
    """A commit a number with plain PySpark: of the table it knows key, ordering and type, and not us."""
    path = lake.table("t").path
    there = spark.read.format("hudi").load(path)
    # Hudi refuses rows without the column by which a mirror's are deleted.
    own = [name for name in there.columns if name.startswith("_hoodie_") and name != DELETED]
    there = there.drop(*own)
    keys = {"merge": "id", "append": "_headwater_event_id,_headwater_row"}
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.operation": "upsert" if mode == "merge" else "insert",
        "hoodie.datasource.write.recordkey.field": keys.get(mode, "_headwater_object,_headwater_row"),
        "hoodie.datasource.write.table.type": lake.settings.tables["t"].table_type.upper(),
        "hoodie.metadata.enable": "false",
    }
    if mode == "merge":
        options["hoodie.table.ordering.fields"] = "ts"
    for n in numbers:
        row = f"select {n} id, {n} ts, 'foreign-{n}' _headwater_object, 'foreign-{n}' _headwater_event_id"
        frame = spark.sql(f"{row}, 0L _headwater_row")
        frame = there.limit(0).unionByName(frame, allowMissingColumns=True)
        frame.write.format("hudi").options(**options).mode("append").save(path)


@pytest.mark.parametrize(
    ("mode", "table"),
    [
        ("merge", {}),
        *(
            pytest.param(mode, table, marks=pytest.mark.long)
            for mode, table in (("merge", LOGGED), ("append", {}), ("mirror", {}), ("mirror", LOGGED))
        ),
    ],
)
def test_external_commits_and_services_cause_no_duplicates_or_gaps(build, spark, mode, table):
    lake = build(t=MODES[mode] | table)
    assert put(lake, 1, 2) == 2
    write_external(lake, spark, mode, 101, 102, 103)
    assert put(lake, 3) == 1
    assert put(lake) == 0

    write_external(lake, spark, mode, *range(104, 118))
    owned = ServiceTable(spark, TableAddress("t", lake.table("t").path))
    clean(owned, CleanPolicy("commits", 1))
    archive(owned, 2)
    active = lake.table("t").load_timeline()
    if table is not LOGGED:  # where Hudi keeps what came since the compaction before the last
        assert not any("checkpoint" in active.read_own_metadata(commit) for commit in active.commits)
    create_savepoint(owned, None, "only foreign commits are active")
    assert put(lake, 4) == 1
    assert [row[0] for row in lake.rows("t", "id")] == [1, 2, 3, 4, *range(101, 118)]

    write_external(lake, spark, mode, 118)
    assert put(lake, 5) == 1
    restore(owned, None)
    assert [row[0] for row in lake.rows("t", "id")] == [1, 2, 3, *range(101, 118)]
    assert put(lake) == 2
    assert put(lake) == 0
    assert [row[0] for row in lake.rows("t", "id")] == [1, 2, 3, 4, 5, *range(101, 118)]
