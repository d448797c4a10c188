"""Locks between writers, on real Hudi: two threads that change the same files, and locks that are held."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from headwater.config.hudi.lock import LockConfig
from headwater.errors import TableBusyError
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from headwater.lake.typed_options.locks import render_lock
from headwater.lake.typed_options.rendering import render_options
from tests.fixtures.catalogs.hive_metastore import start_metastore_with_locks
from tests.fixtures.end_to_end.zookeeper import run_zookeeper
from tests.fixtures.tables.concurrent_writers import read, write, write_concurrently, write_until_done

pytestmark = pytest.mark.slow

NO_PATIENCE = {
    "hoodie.write.lock.client.num_retries": "1",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "100",
    "hoodie.write.lock.num_retries": "1",
    "hoodie.write.lock.wait_time_ms": "1000",
    "hoodie.write.lock.zookeeper.connection_timeout_ms": "1000",
}


@contextmanager
def run_provider(provider, folder):
    """The lock, and what stops the server that gives it, if one does."""
    if provider == "zookeeper":
        with run_zookeeper() as (address, process):
            yield LockConfig(provider=provider, address=address), lambda: (process.kill(), process.wait())
    elif provider == "hive_metastore":
        folder.mkdir()
        server = start_metastore_with_locks(folder)
        try:
            yield LockConfig(provider=provider, address=server.address, database="default"), server.stop
        finally:
            server.stop()
    else:
        yield LockConfig(provider=provider), None


@pytest.mark.parametrize(
    "provider",
    [
        "file_system",
        *(pytest.param(p, marks=pytest.mark.long) for p in ("zookeeper", "hive_metastore", "in_process")),
    ],
)
def test_two_writers_of_the_same_files_lose_nothing(spark, lake, tmp_path, provider):
    path = f"{lake}/t"
    with run_provider(provider, tmp_path / "server") as (lock, stop):
        written = write_concurrently(spark, path, lock)
        timeline = Table(spark, path).load_timeline()
        commits = [instant for instant in (*timeline.archived, *timeline.active) if instant.is_commit]
        # The first one has no rows.
        assert len(commits) == 2 + written
        if stop is not None:
            stop()
            with pytest.raises(TableBusyError, match="cannot acquire the table's lock"):
                write(spark, path, [(99, 99)], lock, **NO_PATIENCE)
            assert 99 not in read(spark, path)


def forget_newest_commit(path):
    """Leave the newest commit as a writer killed just now does; returns its instant."""
    hoodie = Path(path, ".hoodie")
    newest = max((hoodie / "timeline").glob("*_*.*commit"))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink()
    instant = newest.name.partition("_")[0]
    hoodie.joinpath(".heartbeat", instant).touch()
    return instant


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_rows_of_a_killed_first_write_never_appear(spark, lake, table_type):
    path, lock = f"{lake}/t", LockConfig(provider="file_system")
    # Commits are archived as early as possible.
    options = {
        "hoodie.datasource.write.table.type": table_type.upper(),
        "hoodie.clean.commits.retained": "1",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
    }
    write(spark, path, [(1, 0), (2, 0), (3, 0)], lock, **options)
    killed = forget_newest_commit(path)
    assert read(spark, path) == {}
    for n in range(1, 9):
        write(spark, path, [(2, n), (3, n)], lock, **options)
        rows = Table(spark, path).read().select("id", "n").collect()
        assert sorted(tuple(row) for row in rows) == [(2, n), (3, n)]
    pending = {
        instant.requested for instant in Table(spark, path).load_timeline().active if not instant.completed
    }
    assert killed in pending, "Hudi has rolled the write back, so that this test shows nothing"


@pytest.mark.long
def test_lock_that_is_held_refuses_and_one_left_by_a_killed_process_expires(spark, lake):
    path, lock = f"{lake}/t", LockConfig(provider="file_system", expire_minutes=1)
    write(spark, path, [(0, 0)], lock)
    assert [*Path(path, ".hoodie").rglob("lock")] == []
    held = Path(path, ".hoodie", "lock")
    held.write_text("{}")
    with pytest.raises(TableBusyError, match="cannot acquire the table's lock"):
        write(spark, path, [(1, 1)], lock, **NO_PATIENCE)
    old = time.time() - 61
    os.utime(held, (old, old))
    write(spark, path, [(2, 2)], lock)
    assert read(spark, path) == {0: 0, 2: 2}


@pytest.mark.long
def test_writers_that_do_not_block_each_other_change_the_same_files_at_once(spark, lake):
    path, lock = f"{lake}/t", LockConfig(provider="in_process")
    extra = {**render_lock(lock), **render_options({"concurrency": "non_blocking"})}
    options = WriteOptions(
        "t", "upsert", ("id",), ordering=("n",), table_type="merge_on_read", index="bucket", extra=extra
    )

    def upsert(rows):
        Table(spark, path).write(spark.createDataFrame(rows, "id int, n int"), options)

    upsert([(0, 0)])
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(upsert, [[(n, n), (0, 9 - n)] for n in range(1, 5)]))
    assert read(spark, path) == {0: 8, 1: 1, 2: 2, 3: 3, 4: 4}
    actions = [commit.action for commit in Table(spark, path).load_timeline().commits]
    # The first one has no rows.
    assert actions.count("deltacommit") == 6


@pytest.mark.long
def test_conflict_is_seen_while_writing_where_that_is_asked_for(spark, lake):
    path, lock = f"{lake}/t", LockConfig(provider="in_process", early_conflict_detection=True)
    write(spark, path, [(0, 0)], lock)
    with ThreadPoolExecutor(2) as pool:
        conflicts = sum(
            pool.map(lambda n: write_until_done(spark, path, [(n, n), (0, n)], lock), range(1, 5))
        )
    assert conflicts > 0
    assert sorted(read(spark, path)) == [0, 1, 2, 3, 4]
