"""A run tells a real Hive Metastore; Spark reads what it was told, beside what Hudi's own tool tells it."""

import json
import shutil
import subprocess
import sys
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headwater.app import App
from headwater.app.catalogs import CatalogSync
from headwater.app.catalogs.sync import read_notes
from headwater.app.run import Run
from headwater.config.catalogs import CatalogConfig
from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.lake.catalogs.bigquery.manifest import read_manifest
from headwater.lake.catalogs.catalog_table import CatalogTable
from headwater.lake.catalogs.entries import EntryRules, build_entries
from headwater.lake.catalogs.hive.metastore import HiveMetastoreCatalog
from headwater.lake.catalogs.planning import normalize_location, plan_change
from headwater.lake.catalogs.table_state import read_table_state
from headwater.lake.layout import TableAddress, table_path
from headwater.lake.options import owner_options
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.deletion import delete_partitions
from tests.fixtures.catalogs.hive_metastore import MetastoreServer, hive_metastore
from tests.fixtures.free_port import find_free_port
from tests.fixtures.lakes import FIXTURE_LAKE

pytestmark = pytest.mark.long
__all__ = ["hive_metastore"]

TABLES = ("orders_cow", "orders_mor")
ENTRIES = ("orders_cow", "orders_mor", "orders_mor_ro", "orders_mor_rt")


def open_catalog(server: MetastoreServer, database: str) -> HiveMetastoreCatalog:
    return HiveMetastoreCatalog(CatalogConfig(type="hive", database=database, address=server.address))


def build_settings(folder: Path, server: MetastoreServer) -> Settings:
    landing = folder / "landing"
    landing.mkdir()
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": str(landing), "settle_seconds": 0},
            "lake": str(folder / "lake"),
            "tables": {
                "visits": {"path": "*.json", "mode": "merge", "record_key": "id", "partition": "day"},
            },
            "catalogs": [
                {"type": "hive", "database": "web", "address": server.address},
                {
                    "type": "hive",
                    "name": "dead",
                    "database": "web",
                    "address": f"thrift://127.0.0.1:{find_free_port()}",
                },
            ],
        }
    )


def test_run_syncs_to_the_metastore_and_survives_its_outage(
    spark: SparkSession, tmp_path: Path, hive_metastore: MetastoreServer
) -> None:
    settings = build_settings(tmp_path, hive_metastore)
    landing = tmp_path / "landing"
    app = App(settings, spark=spark)
    (landing / "a.json").write_text('{"id": 1, "day": "mon"}\n{"id": 2, "day": "tue"}\n')
    report = Run(app).once(threading.Event())
    assert (report.failures, report.tables["visits"].rows) == ({}, 2)
    catalog = open_catalog(hive_metastore, "web")
    held = catalog.read("visits")
    assert held is not None
    assert set(held.partitions) == {("mon",), ("tue",)}
    hive, dead = sorted(read_notes(settings), key=lambda note: note.catalog == "dead")
    assert (hive.error, dead.catalog, "does not answer" in dead.error) == ("", "dead", True)

    # A column comes, a partition comes, and one goes.
    (landing / "b.json").write_text('{"id": 3, "day": "wed", "page": "/"}\n')
    Run(App(settings, spark=spark)).once(threading.Event())
    address = TableAddress("visits", table_path(settings.lake, "visits"))
    table = ServiceTable(spark, address, owner_options(settings.tables["visits"]))
    delete_partitions(table, ("day=mon",))
    sync = CatalogSync(settings, lambda: datetime.now(timezone.utc))
    done = sync.sync("visits", settings.catalogs[0])
    assert [change.dropped for change in done.changes] == [(("mon",),)]
    assert sync.sync("visits", settings.catalogs[0]).is_empty
    held = catalog.read("visits")
    assert held is not None
    assert set(held.partitions) == {("tue",), ("wed",)}
    assert [column.name for column in held.columns][-1] == "page"
    assert held.properties["last_commit_completion_time_sync"] == done.completed
    catalog.close()


def test_own_tables_are_in_the_metastore_too(
    spark: SparkSession, tmp_path: Path, hive_metastore: MetastoreServer
) -> None:
    given = build_settings(tmp_path, hive_metastore)
    own = CatalogConfig(
        type="hive",
        database="own",
        address=hive_metastore.address,
        own_tables=("events", "quarantine", "ledger"),
    )
    settings = given.model_copy(update={"catalogs": (own,)})
    (tmp_path / "landing/a.json").write_text('{"id": 1, "day": "mon"}\nbad\n')
    report = Run(App(settings, spark=spark)).once(threading.Event())
    assert (report.failures, report.component_failures) == ({}, {})
    catalog = open_catalog(hive_metastore, "own")
    for table in own.own_tables:
        held = catalog.read(f"headwater_{table}")
        assert held is not None, table
        assert {"_hoodie_commit_time"} < {column.name for column in held.columns}
        assert held.location.endswith(f"_headwater/{table}")
    catalog.close()


@pytest.fixture(scope="module")
def reported(
    hive_metastore: MetastoreServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, dict[str, int]]]:
    """The fixture tables, told by us to `ours`, by Hudi's tool to `theirs`; and what Spark counts in each."""
    folder = tmp_path_factory.mktemp("told")
    catalog = open_catalog(hive_metastore, "ours")
    for name in TABLES:
        shutil.copytree(FIXTURE_LAKE / name, folder / name)
        state = read_table_state(TableAddress(name, str(folder / name)))
        assert state is not None
        for entry in build_entries(state, EntryRules()):
            catalog.apply(plan_change(None, entry))
    catalog.close()
    paths = [str(folder / name) for name in TABLES]
    command = [sys.executable, "-m", "tests.fixtures.catalogs.hudi_sync_tool", hive_metastore.address]
    done = subprocess.run(
        [*command, str(folder), *paths],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        cwd=Path(__file__).parents[3],
        env=dict(read_environment()),
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return folder, json.loads(done.stdout.splitlines()[-1])


def test_spark_reads_our_entries_as_it_reads_those_of_hudis_own_tool(
    reported: tuple[Path, dict[str, dict[str, int]]],
) -> None:
    _, counts = reported
    ours = {name.partition(".")[2]: n for name, n in counts.items() if name.startswith("ours.")}
    theirs = {name.partition(".")[2]: n for name, n in counts.items() if name.startswith("theirs.")}
    assert set(ours) == set(ENTRIES)
    assert ours == theirs
    assert ours["orders_cow"] == {"eu": 5, "us": 3}


def test_hudis_own_manifest_names_the_files_that_ours_would(
    reported: tuple[Path, dict[str, dict[str, int]]],
) -> None:
    folder, _ = reported
    table = folder / "orders_cow"
    state = read_table_state(TableAddress("orders_cow", str(table)))
    assert state is not None
    (entry,) = build_entries(state, EntryRules())
    theirs = read_manifest(str(table))
    assert theirs is not None
    assert [normalize_location(file) for file in theirs] == list(entry.files or ())
    assert len(theirs) == 2


@pytest.mark.parametrize("name", ENTRIES)
def test_our_entries_are_those_of_hudis_own_tool(
    name: str, reported: tuple[Path, dict[str, dict[str, int]]], hive_metastore: MetastoreServer
) -> None:
    catalog = open_catalog(hive_metastore, "theirs")
    held = catalog.read(name)
    catalog.close()
    assert held is not None
    folder, _ = reported
    state = read_table_state(TableAddress(name[:10], str(folder / name[:10])))
    assert state is not None
    (wanted,) = [entry for entry in build_entries(state, EntryRules()) if entry.name == name]
    change = plan_change(held, wanted)
    assert [*change.columns, *change.added, *change.moved, *change.dropped] == []
    assert held.format == wanted.format
    # To Spark the same columns; theirs are all nullable.
    assert set(change.properties) <= {"spark.sql.sources.schema.part.0"}
    assert _read_spark_schema(held) == _read_spark_schema(wanted)


def _read_spark_schema(entry: CatalogTable) -> str:
    schema = json.loads(entry.properties["spark.sql.sources.schema.part.0"])
    return StructType.fromJson(schema).simpleString()
