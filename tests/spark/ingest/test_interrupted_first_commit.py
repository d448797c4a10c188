"""A table whose first commit was killed is an empty table to every reader, and recovers with the next run."""

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.explain import Explain
from headwater.app.objects.verify import Verify
from headwater.app.pipeline_state import read_pipeline_state
from headwater.app.schema import read_schema_report
from headwater.app.status import StatusReader, read_quarantine_status
from headwater.errors import TableNotFoundError
from headwater.ingest.ledger.ledger import Ledger
from headwater.lake.catalogs.table_state import read_table_state
from headwater.lake.layout import TableAddress, ledger_path, quarantine_path, table_path
from headwater.lake.queries.change_feed import ChangeFeed
from headwater.lake.queries.query import Query
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.compaction import compact
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.faults.interrupted_commits import Reached, interrupt_only_commit
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.medallion.medallion_lake import MedallionLake

MODES = {
    "mirror": {"mode": "mirror"},
    "append": {"mode": "append"},
    "merge": {"record_key": "id"},
}
TYPES = {"cow": "copy_on_write", "mor": "merge_on_read"}
TABLES = {
    f"{mode}_{short}": {"path": "**/*.json", "table_type": table_type, **section}
    for mode, section in MODES.items()
    for short, table_type in TYPES.items()
}
DERIVED = {"derived": {"from": "mirror_cow", "transform": [{"sql": "select * from input"}]}}
QUICK = ("mirror_cow", "merge_mor")
GOOD = '{"id": 1}\n{"id": 2}\n'


@dataclass(frozen=True)
class Killed:
    """A lake in which every table was killed in its first commit."""

    lake: MedallionLake
    app: App
    names: tuple[str, ...]
    """Its tables, except the derived one."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("inflight", QUICK), id="inflight-two"),
        *(
            pytest.param((reached, tuple(TABLES)), id=f"{reached}-all", marks=pytest.mark.slow)
            for reached in ("inflight", "requested")
        ),
    ],
)
def killed(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Killed:
    reached: Reached
    reached, names = request.param
    tables = {name: TABLES[name] for name in names}
    lake = MedallionLake(spark, tmp_path_factory.mktemp("killed"), **tables, **DERIVED)
    lake.put_many([("a.json", GOOD), ("broken.json", "{")])
    for name in names:
        lake.pipeline(name).run_batch()
    lake.derived("derived").run_batch()
    for name in (*names, *DERIVED):
        interrupt_only_commit(Path(table_path(lake.lake, name)), reached)
    return Killed(lake, App(lake.settings, spark=spark), names)


def test_readers_take_it_for_an_empty_table(killed: Killed) -> None:
    settings = killed.lake.settings
    status = StatusReader(settings, {}, datetime.now(timezone.utc)).read()
    for name, table in status.tables.items():
        assert (table.rows, table.commits) == (0, 0), name
    assert status.tables["merge_mor"].lag_events == 2
    read_pipeline_state(settings)
    for name in killed.names:
        assert read_schema_report(settings, {}, name).columns == ()
        reader = SnapshotReader(table_path(settings.lake, name))
        assert reader.read(["_headwater_object"]).num_rows == 0
        assert reader.read_since("20200101000000000", ["_headwater_object"]).num_rows == 0


def test_changes_catalogs_and_services_find_no_table_state(spark: SparkSession, killed: Killed) -> None:
    for name in killed.names:
        address = TableAddress(name, table_path(killed.lake.lake, name))
        assert list(ChangeFeed(address, Query.changes("earliest"), per_commit=True).poll()) == []
        assert read_table_state(address) is None
        with pytest.raises(TableNotFoundError, match=r"no commit .* has completed"):
            compact(ServiceTable(spark, address))


def test_verify_finds_its_objects_pending_and_explain_answers(killed: Killed) -> None:
    report = Verify(killed.app, deep=1).run()
    for name in killed.names:
        counts = report.tables[name].counts
        assert (counts.ingested, counts.pending, counts.quarantined, counts.extra) == (0, 1, 1, 0), name
    explained = Explain(killed.app).explain(str(killed.lake.source / "a.json"))
    assert {view.pending for name, view in explained.tables.items() if name in killed.names} == {1}


def test_next_batch_rolls_it_back_and_has_each_row_once(killed: Killed) -> None:
    lake = killed.lake
    for name in killed.names:
        results = lake.ingest(name)
        assert sum(result.rows for result in results) == 2, name
        assert lake.rows(name, "id") == [(1,), (2,)], name


@pytest.mark.parametrize("reached", ["inflight", pytest.param("requested", marks=pytest.mark.slow)])
def test_quarantine_and_ledger_recover(spark: SparkSession, tmp_path: Path, reached: Reached) -> None:
    lake = FolderLake(spark, tmp_path, things={"path": "*.json"})
    lake.put_many([("a.json", GOOD), ("broken.json", "{")])
    pipeline = lake.pipeline("things")
    pipeline.run_batch()
    pipeline.save_checkpoint()
    paths = [quarantine_path(lake.lake), ledger_path(lake.lake), table_path(lake.lake, "things")]
    for path in paths:
        interrupt_only_commit(Path(path), reached)
    assert read_quarantine_status(lake.lake, {}).total == 0
    assert Ledger(spark, ledger_path(lake.lake)).read("things") is None
    lake.ingest("things")
    assert lake.quarantine("key") == [("broken.json",)]
    assert lake.ledger("key", "status") == [("a.json", "ingested"), ("broken.json", "quarantined")]
    assert lake.rows("things", "id") == [(1,), (2,)]


def test_derived_table_recovers_when_its_source_does(killed: Killed) -> None:
    lake = killed.lake
    lake.ingest("mirror_cow")
    lake.follow("derived")
    assert lake.rows("derived", "id") == [(1,), (2,)]
