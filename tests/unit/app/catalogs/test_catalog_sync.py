"""Tables of a lake brought to catalogs: by hand, and beside a run; no Spark, real Hudi tables."""

import shutil
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from headwater.app.catalogs import CatalogLoop, CatalogSync
from headwater.app.catalogs.check import iter_catalog_findings
from headwater.app.catalogs.sync import read_notes
from headwater.config.catalogs import CatalogConfig
from headwater.config.settings import Settings
from headwater.errors import CatalogUnavailableError, UsageError
from headwater.lake.catalogs.catalog_table import CatalogTable
from headwater.lake.catalogs.memory import MemoryCatalog
from headwater.lake.catalogs.planning import TableChange
from headwater.observability.metrics import Metrics
from tests.fixtures.lakes import FIXTURE_LAKE
from tests.fixtures.waiting import wait_until

MERGE_ON_READ = ["orders_mor", "orders_mor_ro", "orders_mor_rt"]
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


class BrokenCatalog:
    """Does not answer as long as `is_down`."""

    def __init__(self) -> None:
        self.is_down = True
        self.defect: Exception | None = None
        self.asked = 0
        self.inner = MemoryCatalog()

    def narrow(self, entry: CatalogTable) -> CatalogTable:
        return self.inner.narrow(entry)

    def read(self, name: str) -> CatalogTable | None:
        self.asked += 1
        if self.defect:
            raise self.defect
        if self.is_down:
            raise CatalogUnavailableError("it does not answer", hint="wait")
        return self.inner.read(name)

    def apply(self, change: TableChange) -> None:
        self.inner.apply(change)

    def close(self) -> None:
        """Nothing to free."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    lake = tmp_path / "lake"
    for name in ("orders_cow", "orders_mor", "odd_partitions"):
        shutil.copytree(FIXTURE_LAKE / name, lake / name)
    tables: dict[str, Any] = {
        name: {"path": f"{name}/*.json"} for name in ("orders_cow", "orders_mor", "odd_partitions", "coming")
    }
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": str(tmp_path / "landing")},
            "lake": str(lake),
            "tables": tables,
            "catalogs": [
                {"type": "glue", "database": "shop", "table_names": {"orders_cow": "shop_orders"}},
                {"type": "hive", "database": "shop", "address": "thrift://h:1", "tables": ["orders_mor"]},
            ],
        }
    )


def build_sync(settings: Settings, catalogs: dict[str, Any], metrics: Metrics | None = None) -> CatalogSync:
    def build(config: CatalogConfig) -> Any:
        return catalogs[config.label]

    return CatalogSync(settings, lambda: NOW, metrics, build)


def test_a_table_is_made_known_and_then_nothing_is_sent(settings):
    glue = MemoryCatalog()
    sync = build_sync(settings, {"glue": glue})
    (config,) = sync.list_catalogs("orders_cow")
    first, second = sync.sync("orders_cow", config), sync.sync("orders_cow", config)
    held = glue.read("shop_orders")
    assert not first.is_empty
    assert second.is_empty
    assert len(glue.applied) == 1
    assert held is not None
    types = {column.name: column.type for column in held.columns}
    assert types["amount"] == "decimal(10,2)"
    assert types["items"] == "array<struct<sku:string,n:bigint>>"
    assert types["attributes"] == "map<string,string>"
    assert set(held.partitions) == {("eu",), ("us",)}
    assert Path(held.partitions["eu",]).is_dir()


def test_own_tables_follow_data_tables(settings, tmp_path):
    own = settings.catalogs[0].model_copy(update={"own_tables": ("events", "quarantine")})
    settings = settings.model_copy(update={"catalogs": (own,)})
    shutil.copytree(FIXTURE_LAKE / "orders_cow", tmp_path / "lake/_headwater/events")
    glue = MemoryCatalog()
    sync = build_sync(settings, {"glue": glue})
    CatalogLoop(settings, sync, lambda: True).catch_up(threading.Event())
    held = glue.read("headwater_events")
    assert held is not None
    assert held.location.endswith("_headwater/events")
    assert "events" in {note.table for note in read_notes(settings)}
    assert glue.read("headwater_quarantine") is None, "without commits"
    assert sync.sync("events", own).is_empty
    assert sync.list_catalogs("events") == [own]
    with pytest.raises(UsageError, match="table ledger is not synced") as caught:
        sync.list_catalogs("ledger")
    assert caught.value.hint == "add it to `own_tables` of a catalog"


def test_a_merge_on_read_table_is_three_entries(settings):
    glue = MemoryCatalog()
    sync = build_sync(settings, {"glue": glue, "hive": MemoryCatalog()})
    sync.sync("orders_mor", settings.catalogs[0])
    assert [change.table.name for change in glue.applied] == MERGE_ON_READ


def test_partition_values_that_are_not_ascii(settings):
    glue = MemoryCatalog()
    build_sync(settings, {"glue": glue}).sync("odd_partitions", settings.catalogs[0])
    held = glue.read("odd_partitions")
    assert held is not None
    assert set(held.partitions) == {("Zürich",), ("a b+c",), ("50%",), ("plain",)}


def test_a_dry_run_shows_the_plan_and_sends_and_notes_nothing(settings):
    glue = MemoryCatalog()
    plan = build_sync(settings, {"glue": glue}).sync("orders_cow", settings.catalogs[0], dry_run=True)
    assert [list(change.describe()) for change in plan.changes] == [
        ["create the table with 19 columns", "add 2 partitions"]
    ]
    assert (glue.applied, read_notes(settings)) == ([], [])


def test_unknown_table_or_catalog_is_reported_immediately(settings):
    sync = build_sync(settings, {})
    with pytest.raises(UsageError, match="there is no catalog glu"):
        sync.list_catalogs("orders_cow", ["glu"])
    with pytest.raises(UsageError, match="chunks is not a table that catalogs sync"):
        sync.list_catalogs("chunks")
    with pytest.raises(UsageError, match="table orders_cow is not synced to a catalog"):
        sync.list_catalogs("orders_cow", ["hive"])


def test_failure_is_recorded_counted_and_recovered(settings):
    glue = BrokenCatalog()
    metrics = Metrics(CollectorRegistry())
    sync = build_sync(settings, {"glue": glue}, metrics)
    assert sync.sync("orders_cow", settings.catalogs[0]).error is not None
    (note,) = read_notes(settings)
    assert (note.catalog, note.table, note.error, note.failing_since) == (
        "glue", "orders_cow", "it does not answer", "2026-01-01T00:00:00Z",
    )  # fmt: skip
    labels = {"catalog": "glue", "table": "orders_cow"}
    assert metrics.registry.get_sample_value("headwater_catalog_syncs_failed_total", labels) == 1
    glue.is_down = False
    sync.sync("orders_cow", settings.catalogs[0])
    (note,) = read_notes(settings)
    assert (note.error, note.sent_at) == ("", "2026-01-01T00:00:00Z")
    assert metrics.registry.get_sample_value("headwater_catalog_syncs_total", labels) == 1


def test_a_pass_asks_a_dead_catalog_once_and_serves_the_others(settings):
    glue, hive = BrokenCatalog(), MemoryCatalog()
    loop = CatalogLoop(settings, build_sync(settings, {"glue": glue, "hive": hive}), lambda: True)
    assert not loop.run_pass(threading.Event())
    assert glue.asked == 1
    assert [change.table.name for change in hive.applied] == MERGE_ON_READ
    glue.is_down = False
    assert loop.run_pass(threading.Event())
    assert {change.table.name for change in glue.inner.applied} == {
        "shop_orders", "odd_partitions", *MERGE_ON_READ,
    }  # fmt: skip


def test_a_catalog_is_not_even_asked_while_no_commit_comes(settings):
    glue = BrokenCatalog()
    glue.is_down = False
    loop = CatalogLoop(settings, build_sync(settings, {"glue": glue, "hive": MemoryCatalog()}), lambda: True)
    loop.run_pass(threading.Event())
    asked = glue.asked
    assert loop.run_pass(threading.Event())
    assert glue.asked == asked > 0


def test_the_loop_ends_while_a_catalog_is_down(settings):
    glue = BrokenCatalog()
    loop = CatalogLoop(settings, build_sync(settings, {"glue": glue, "hive": glue}), lambda: True)
    loop.start()
    wait_until(lambda: glue.asked)
    loop.stop()
    assert loop.defect is None


def test_a_defect_of_a_catalog_ends_neither_the_pass_nor_the_loop(settings):
    glue, hive = BrokenCatalog(), MemoryCatalog()
    glue.is_down, glue.defect = False, RuntimeError("unforeseen")
    loop = CatalogLoop(settings, build_sync(settings, {"glue": glue, "hive": hive}), lambda: True)
    assert not loop.run_pass(threading.Event())
    assert len(hive.applied) == 3
    glue.defect = None
    assert loop.run_pass(threading.Event())
    assert loop.defect is None
    assert len(glue.inner.applied) == 5


def test_doctor_says_whether_catalogs_answer(settings):
    down, up = BrokenCatalog(), MemoryCatalog()
    build_sync(settings, {"hive": up}).sync("orders_mor", settings.catalogs[1])
    catalogs: dict[str, Any] = {"glue": down, "hive": up}
    found = list(iter_catalog_findings(settings, lambda config: catalogs[config.label]))
    assert [(one.name, one.status, one.detail) for one in found] == [
        ("catalog.glue", "warning", "it does not answer"),
        ("catalog.hive", "ok", "the catalog responds; shop.orders_mor exists"),
    ]
