"""Clustering that a writer does, plans, or leaves to another, and what becomes of it where one is first."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_typed_options
from headwater.errors import WriteConflictError
from headwater.lake.options import WriteOptions, owner_options
from headwater.lake.services.maintenance import Duty, run_due_services

pytestmark = pytest.mark.long

LOCK = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
NEW_FILES = {"small": 0}
TYPES = pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])


@pytest.fixture
def configure(build):
    def configured(services, table_type="copy_on_write", after=2, **options):
        config = TableConfig(
            path="*.json",
            record_key="id",
            partition="day",
            table_type=table_type,
            services=services,
            # With a lock, a table's first commit has no rows.
            clustering={"after": after + 1, "sort_by": "n"},
            file_sizes=NEW_FILES,
            **options,
        )
        owned = build(table_type=table_type, typed=list_typed_options(config), extra=LOCK)
        return owned, replace(owned.services, extra=owner_options(config) | LOCK)

    return configured


def count_pending(owned):
    return len(owned.table.load_timeline().list_pending("clustering"))


def find_clustered(owned):
    return [c for c in owned.table.load_timeline().commits if c.action == "replacecommit"]


def read_newest(owned):
    (file,) = owned.files(f"*_{find_clustered(owned)[-1].requested}.parquet")
    return pq.read_table(file, columns=["n"])["n"].to_pylist()


def test_writer_clusters_by_itself(configure):
    owned, services = configure("inline")
    for n in (3, 2):
        owned.write((f"k{n}", n, "x"))
    assert len(find_clustered(owned)) == 1
    assert read_newest(owned) == [2, 3]
    owned.write(("k1", 1, "x"), ("k2", 20, "x"))
    assert owned.rows() == [("k1", 1), ("k2", 20), ("k3", 3)]
    assert run_due_services(services, Duty()).is_idle


@TYPES
def test_writer_plans_and_another_clusters(configure, table_type):
    owned, services = configure("semi_async", table_type)
    for n in (3, 2):
        owned.write((f"k{n}", n, "x"))
    assert (count_pending(owned), find_clustered(owned)) == (1, [])
    # While one is pending, Hudi's writers plan no further one.
    for n in (5, 4):
        owned.write((f"k{n}", n, "x"))
    assert count_pending(owned) == 1
    done = run_due_services(services, Duty())
    assert (len(done.clustered.instants), done.clustered.rows, done.given_up) == (1, 2, ())
    assert count_pending(owned) == 0
    assert read_newest(owned) == [2, 3]
    assert owned.rows() == [("k2", 2), ("k3", 3), ("k4", 4), ("k5", 5)]
    assert run_due_services(services, Duty()).is_idle


@TYPES
def test_another_plans_and_clusters_when_it_is_due(configure, table_type):
    owned, services = configure("async", table_type, after=3)
    for n in (3, 2):
        owned.write((f"k{n}", n, "x"))
    duty = Duty(clusters=5)
    assert run_due_services(services, duty).clustered.instants == ()
    owned.write(("k1", 1, "x"))
    assert run_due_services(services, Duty()).clustered.instants == ()
    assert count_pending(owned) == 0
    done = run_due_services(services, duty)
    assert (len(done.clustered.instants), done.clustered.files) == (1, 1)
    assert read_newest(owned) == [1, 2, 3]
    assert run_due_services(services, duty).is_idle
    owned.write(("k1", 10, "x"))
    assert owned.rows() == [("k1", 10), ("k2", 2), ("k3", 3)]


@TYPES
def test_concurrently_changed_rows_are_not_lost(configure, table_type):
    owned, services = configure("semi_async", table_type)
    for n in (1, 2):
        owned.write((f"k{n}", n, "x"))
    assert count_pending(owned) == 1
    # By Hudi's own rule this write would be refused until the clustering is done.
    owned.write(("k1", 10, "x"))
    done = run_due_services(services, Duty())
    assert (done.clustered.instants, len(done.given_up), done.is_idle) == ((), 1, False)
    assert (count_pending(owned), find_clustered(owned)) == (0, [])
    assert owned.rows() == [("k1", 10), ("k2", 2)]
    owned.write(("k3", 3, "x"))
    assert run_due_services(services, Duty(clusters=5)).given_up == ()
    assert owned.rows() == [("k1", 10), ("k2", 2), ("k3", 3)]


@TYPES
def test_write_overlapping_a_clustering_is_rejected_or_complete(configure, table_type):
    owned, services = configure("async", table_type)
    for n in (1, 2):
        owned.write((f"k{n}", n, "x"))

    @F.udf(IntegerType())
    def slowly(n):
        time.sleep(12)
        return n

    def write_slowly():
        frame = owned.table.spark.createDataFrame([("k1", 10, "x")], "id string, n int, day string")
        owned.table.write(frame.coalesce(1).withColumn("n", slowly("n")), WriteOptions("t", **owned._options))

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_slowly)
        time.sleep(3)
        done = run_due_services(services, Duty(clusters=5))
        assert not writing.done()
        try:
            writing.result()
            written = True
        except WriteConflictError:
            written = False
    # One of the two gives way; that a write is done again is for who writes.
    assert written != bool(done.clustered.instants)
    assert owned.rows() == [("k1", 10 if written else 1), ("k2", 2)]
    owned.write(("k1", 11, "x"))
    assert owned.rows() == [("k1", 11), ("k2", 2)]
