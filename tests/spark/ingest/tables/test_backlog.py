"""A table's next batch waits for its table services, on real Hudi."""

import threading

import pytest

from headwater.app import App
from headwater.app.run import Run
from headwater.errors import BacklogError
from headwater.lake.layout import find_address
from headwater.lake.options import owner_options
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.maintenance import Duty, run_due_services
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow

MERGED = {
    "path": "*.json",
    "record_key": "id",
    "ordering": "n",
    "table_type": "merge_on_read",
    "index": {"type": "bucket", "buckets": 1},
    "compact_after": 1,
    "services": "semi_async",
    "max_pending_compactions": 2,
}


def put(lake, n):
    lake.put(f"{n}.json", f'{{"id": 1, "n": {n}}}')


@pytest.fixture
def lake(spark, tmp_path):
    return FolderLake(spark, tmp_path, lock={"provider": "file_system"}, t=MERGED)


def fall_behind(lake):
    """Ingest until the table waits; return the number of the file that waits."""
    for n in range(10):
        put(lake, n)
        try:
            lake.ingest("t")
        except BacklogError:
            return n
    raise AssertionError("it never waited")


def open_services(lake):
    options = owner_options(lake.settings.tables["t"])
    return ServiceTable(lake.app.spark, find_address(lake.settings, "t"), options)


def list_commits(lake):
    return [commit.requested for commit in lake.table("t").load_timeline().commits]


def test_batch_waits_until_the_worker_has_compacted(lake):
    waiting = fall_behind(lake)
    assert lake.rows("t", "id", "n") == [(1, waiting - 1)]
    before = list_commits(lake)
    with pytest.raises(BacklogError, match="table t: 2 compactions are due"):
        lake.ingest("t")
    assert list_commits(lake) == before
    done = run_due_services(open_services(lake), Duty())
    assert len(done.compacted.instants) == 1
    lake.ingest("t")
    assert lake.rows("t", "id", "n") == [(1, waiting)]


def test_run_that_ends_by_itself_reports_what_it_waits_for(lake, spark, monkeypatch):
    waiting = fall_behind(lake)
    monkeypatch.setattr("headwater.ingest.runner._ONCE_ATTEMPTS", 2)
    report = Run(App(lake.settings, spark=spark)).once(threading.Event())
    assert isinstance(report.failures["t"], BacklogError)
    assert lake.rows("t", "id", "n") == [(1, waiting - 1)]
    run_due_services(open_services(lake), Duty())
    assert Run(App(lake.settings, spark=spark)).once(threading.Event()).failures == {}
    assert lake.rows("t", "id", "n") == [(1, waiting)]
