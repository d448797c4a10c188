"""Compactions that a writer plans and another does, on real Hudi."""

from typing import Any

import pytest

from headwater.config.hudi.table_option import OptionValue
from headwater.lake.layout import TableAddress
from headwater.lake.options import WriteOptions
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.maintenance import Duty, run_due_services
from headwater.lake.table import Table
from headwater.lake.typed_options.rendering import render_options

pytestmark = pytest.mark.long

OPTIONS: dict[str, Any] = {
    "table_name": "t",
    "operation": "upsert",
    "record_key": ("id",),
    "table_type": "merge_on_read",
    "index": "bucket",
}


def write(table, count, **how):
    for n in range(count):
        frame = table.spark.createDataFrame([(1, n), (n + 2, n)], "id int, n int")
        table.write(frame, WriteOptions(**OPTIONS, **how))


def count_pending(table):
    return len(table.load_timeline().list_pending("compaction"))


def find_actions(table):
    return [commit.action for commit in table.load_timeline().commits]


def test_writer_plans_and_another_compacts(spark, lake):
    table = Table(spark, f"{lake}/t")
    semi = {"compact_after": 2, "services": "semi_async"}
    write(table, 3, typed=semi)
    rows = sorted(tuple(row) for row in table.read().select("id", "n").collect())
    assert count_pending(table) == 1
    assert set(find_actions(table)) == {"deltacommit"}
    # While one is pending, Hudi's writers plan no further one.
    write(table, 4, typed=semi)
    assert count_pending(table) == 1

    logged = ServiceTable(spark, TableAddress("t", table.path))
    first = run_due_services(logged, Duty())
    assert len(first.compacted.instants) == 1
    assert (first.cleaned, first.archived, first.is_idle) == (None, None, False)
    assert count_pending(table) == 0
    assert find_actions(table).count("commit") == 1
    assert sorted(tuple(r) for r in table.read().select("id", "n").collect())[1:3] == rows[1:3]
    assert run_due_services(logged, Duty()).is_idle


def test_writer_leaves_all_and_another_plans_compacts_cleans_and_archives(spark, lake):
    table = Table(spark, f"{lake}/t")
    left: dict[str, OptionValue] = {"keep_commits": 1, "compact_after": 3, "services": "async"}
    options = {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4"}
    write(table, 8, typed=left, extra=options)
    assert count_pending(table) == 0
    assert find_actions(table) == ["deltacommit"] * 8
    before = {row["id"]: row["n"] for row in table.read().collect()}

    owner = {**render_options({"index.type": "bucket", "index.buckets": 1, **left}), **options}
    logged = ServiceTable(spark, TableAddress("t", table.path), owner)
    done = run_due_services(logged, Duty(plans=True, cleans=True))
    assert len(done.compacted.instants) == 1
    assert done.archived is not None
    assert done.archived.after < done.archived.before
    assert {row["id"]: row["n"] for row in table.read().collect()} == before
    again = run_due_services(logged, Duty(plans=True, cleans=True))
    assert again.compacted.instants == ()
