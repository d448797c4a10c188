"""Statistics that a table is to have, built by another while its writer goes on."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from headwater.app.duty import find_duty
from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_typed_options
from headwater.errors import WriteConflictError
from headwater.lake.options import owner_options
from headwater.lake.services.maintenance import run_due_services

pytestmark = pytest.mark.long

LOCK = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
SKIPPING = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
NEW_FILES = {"small": 0}
TYPES = pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])


def configure(build, table_type="copy_on_write", **options):
    config = TableConfig(
        path="*.json",
        record_key="id",
        partition="day",
        table_type=table_type,
        services="async",
        column_stats=("n",),
        indexing="async",
        file_sizes=NEW_FILES,
        **options,
    )
    owned = build(table_type=table_type, typed=list_typed_options(config), extra=LOCK)
    return owned, replace(owned.services, extra=owner_options(config) | LOCK), find_duty(config)


def plan_statistics(services):
    java = services.java
    with services.open_client({}) as client:
        planned = client.scheduleIndexing(java.list_index_kinds(["column_stats"]), java.build_list([]))
    return planned.get()


def read_property(owned, name):
    lines = (owned.path / ".hoodie" / "hoodie.properties").read_text().splitlines()
    (found,) = [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")] or [""]
    return set(filter(None, found.split(",")))


def list_indexes(owned):
    return read_property(owned, "hoodie.table.metadata.partitions")


def read_ranges(owned):
    """By live file, the lowest and highest `n` that its statistics tell."""
    live = {path.name for path in owned.files("*.parquet")}
    metadata = owned.table.spark.read.format("hudi").load(f"{owned.path}/.hoodie/metadata")
    of_n = metadata.where("ColumnStatsMetadata.columnName = 'n' and not ColumnStatsMetadata.isDeleted")
    found = of_n.selectExpr(
        "ColumnStatsMetadata.fileName as file",
        "ColumnStatsMetadata.minValue.member1.value as lowest",
        "ColumnStatsMetadata.maxValue.member1.value as highest",
    )
    return {row["file"]: (row["lowest"], row["highest"]) for row in found.collect() if row["file"] in live}


@contextmanager
def writing_concurrently(owned):
    """Another writer, which goes on and tries a conflict again; gives what it has written so far."""
    stop, written = threading.Event(), []

    def write():
        for n in itertools.takewhile(lambda _: not stop.is_set(), itertools.count(10)):
            with suppress(WriteConflictError):
                owned.write((f"k{n}", n, "x"))
                written.append(n)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            yield written
        finally:
            stop.set()
            writer.result()


@TYPES
def test_writer_leaves_statistics_to_another_and_commits_while_they_are_built(build, table_type):
    owned, services, duty = configure(build, table_type)
    for n in range(1, 4):
        owned.write((f"k{n}", n, "x"), (f"l{n}", n, "y"))
    assert list_indexes(owned) == {"files"}

    with writing_concurrently(owned) as written:
        done = run_due_services(services, duty)

    assert {index.name for index in done.indexed} == {"column_stats"}
    assert not done.is_idle
    assert written
    owned.write(("k99", 99, "z"))
    assert list_indexes(owned) == {"files", "column_stats"}
    assert read_property(owned, "hoodie.table.metadata.partitions.inflight") == set()
    expected = {f"k{n}": n for n in (1, 2, 3, *written, 99)} | {f"l{n}": n for n in (1, 2, 3)}
    assert owned.rows() == sorted(expected.items())

    ranges = sorted(read_ranges(owned).values())
    # A commit that had looked at the table before the index began, and came after, is not among them.
    missing = set(expected.values()) - {lowest for lowest, _ in ranges}
    assert missing <= set(written[:2])
    assert ranges == sorted((n, n) for n in expected.values() if n not in missing)
    found = owned.table.spark.read.options(**SKIPPING).format("hudi").load(str(owned.path))
    for n in expected.values():
        assert found.where(f"n = {n}").count() == list(expected.values()).count(n)
    assert run_due_services(services, duty).indexed == ()


def test_a_table_without_a_metadata_table_waits_for_its_writer(build):
    owned, services, duty = configure(build)
    owned.write(("k1", 1, "x"), typed={"file_sizes.small": 0})
    assert run_due_services(services, duty).indexed == ()
    owned.write(("k2", 2, "x"))
    assert [index.name for index in run_due_services(services, duty).indexed] == ["column_stats"]
    assert sorted(read_ranges(owned).values()) == [(1, 1), (2, 2)]


def test_index_of_a_killed_build_is_dropped_and_rebuilt(build):
    owned, services, duty = configure(build)
    owned.write(("k1", 1, "x"))
    planned = plan_statistics(services)
    meta_client = services.load_meta_client()
    timeline = meta_client.getActiveTimeline()
    (instant,) = timeline.filterPendingIndexTimeline().getInstants()
    timeline.transitionIndexRequestedToInflight(instant)
    meta_client.getTableConfig().setMetadataPartitionsInflight(
        meta_client, services.java.build_list(["column_stats"])
    )
    assert read_property(owned, "hoodie.table.metadata.partitions.inflight") == {"column_stats"}

    done = run_due_services(services, duty)
    assert [index.name for index in done.indexed] == ["column_stats"]
    owned.write(("k2", 2, "x"))
    assert list_indexes(owned) == {"files", "column_stats"}
    assert not (owned.path / ".hoodie" / "timeline" / f"{planned}.indexing.inflight").exists()
    assert sorted(read_ranges(owned).values()) == [(1, 1), (2, 2)]


def test_plan_of_another_process_is_executed(build):
    owned, services, duty = configure(build)
    owned.write(("k1", 1, "x"))
    plan_statistics(services)
    done = run_due_services(services, duty)
    assert [index.name for index in done.indexed] == ["column_stats"]
    assert list_indexes(owned) == {"files", "column_stats"}
