"""Views of a lake: followed, reported in status, metrics and doctor, and never in the way."""

import shutil
import threading
from datetime import datetime, timezone
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from headwater.app.iceberg import IcebergLoop, IcebergStatus, IcebergViews, update_views
from headwater.app.iceberg.check import iter_iceberg_findings
from headwater.app.pipeline_state import read_pipeline_state
from headwater.app.status import StatusReader
from headwater.cli.status import render_status
from headwater.config.settings import Settings
from headwater.observability.metrics import Metrics
from tests.fixtures.iceberg_readers import read_by_pyiceberg
from tests.fixtures.lakes import FIXTURE_LAKE

NOW = datetime(2026, 11, 21, 7, tzinfo=timezone.utc)
TABLES = ("archived", "orders_mor", "orders_cow")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """`archived` can have a view; the lists of the others have the structure of older releases."""
    for name in (*TABLES, "_headwater"):
        shutil.copytree(FIXTURE_LAKE / name, tmp_path / "lake" / name)
    tables = {name: {"path": f"{name}/*.json", "iceberg": True} for name in (*TABLES, "coming")}
    source = {"type": "local", "path": str(tmp_path / "landing")}
    return Settings.model_validate({"source": source, "lake": str(tmp_path / "lake"), "tables": tables})


def find_folder(settings: Settings, name: str) -> Path:
    return Path(settings.lake) / "_headwater/iceberg" / name


def read_status(settings: Settings, name: str) -> IcebergStatus:
    found = StatusReader(settings, {}, NOW).read_iceberg(name)
    assert found is not None
    return found


def test_views_follow_and_failures_do_not_stop_the_others(settings: Settings) -> None:
    registry = CollectorRegistry()
    views = IcebergViews(settings, lambda: NOW, Metrics(registry))
    loop = IcebergLoop(views, lambda: True)
    assert not loop.run_pass(threading.Event())
    assert read_by_pyiceberg(str(find_folder(settings, "archived")))
    found = read_status(settings, "archived")
    assert (found.lag_commits, found.lag_seconds, found.error) == (0, 0, "")
    assert found.shown is not None
    failed = read_status(settings, "orders_cow")
    assert failed.shown is None
    assert failed.lag_commits == 3
    assert failed.lag_seconds > 0
    assert "column tags" in failed.error
    assert failed.failing_since == "2026-11-21T07:00:00Z"
    assert read_status(settings, "coming").error == ""
    samples = {
        ("headwater_iceberg_updates_total", "archived"): 1,
        ("headwater_iceberg_updates_failed_total", "orders_cow"): 1,
        ("headwater_iceberg_lag_seconds", "archived"): 0,
    }
    found_samples = {
        (name, table): registry.get_sample_value(name, {"table": table}) for name, table in samples
    }
    assert found_samples == samples


def test_table_without_news_is_not_written_again_unless_the_view_was_replaced(settings: Settings) -> None:
    views = IcebergViews(settings, lambda: NOW, only=["archived"])
    assert views.follow("archived")
    shutil.rmtree(Path(settings.lake) / "archived/year=2025", ignore_errors=True)
    before = sorted(path.name for path in find_folder(settings, "archived").rglob("*"))
    assert views.follow("archived")
    assert sorted(path.name for path in find_folder(settings, "archived").rglob("*")) == before
    (find_folder(settings, "archived") / "metadata/version-hint.text").unlink()
    assert views.follow("archived")
    assert (find_folder(settings, "archived") / "metadata/version-hint.text").exists()


def test_defect_is_a_failure_of_the_view_only(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("of a library")

    monkeypatch.setattr("headwater.lake.iceberg_view.view.build_schema", fail)
    views = IcebergViews(settings, lambda: NOW, only=["archived"])
    loop = IcebergLoop(views, lambda: True)
    assert not loop.run_pass(threading.Event())
    assert loop.defect is None
    assert "unexpected KeyError" in read_status(settings, "archived").error


def test_success_after_a_failure_is_recorded(settings: Settings) -> None:
    metadata = find_folder(settings, "archived") / "metadata"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("not a folder")
    views = IcebergViews(settings, lambda: NOW, only=["archived"])
    assert not views.follow("archived")
    assert views.find_error("archived") in read_status(settings, "archived").error
    metadata.unlink()
    assert read_status(settings, "archived").error == views.find_error("archived") != ""
    metadata.write_text("not a folder")
    later = IcebergViews(settings, lambda: datetime.now(timezone.utc), only=["archived"])
    assert not later.follow("archived")
    metadata.unlink()
    assert read_status(settings, "archived").failing_since == "2026-11-21T07:00:00Z"
    update_views(settings, ["archived"])
    assert read_status(settings, "archived").error == ""


def test_status_and_doctor_say_what_a_view_shows(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    update_views(settings)
    render_status(StatusReader(settings, {}, NOW).read(TABLES))
    printed = capsys.readouterr().out
    assert "iceberg     archived: shows the commit of 2026-11-21" in printed
    assert "iceberg     orders_cow: no view yet, 3 commits behind; failing since 20" in printed
    state = read_pipeline_state(settings)["tables"]
    assert state["orders_cow"]["iceberg"]["error"] == "updates of the Iceberg view are failing"
    assert state["archived"]["iceberg"]["address"] == ""
    shutil.copytree(find_folder(settings, "archived"), find_folder(settings, "former"))
    found = {one.name: one for one in iter_iceberg_findings(settings, NOW)}
    assert {name: one.status for name, one in found.items()} == {
        "iceberg.former": "warning",
        "iceberg.archived": "ok",
        "iceberg.orders_mor": "warning",
        "iceberg.orders_cow": "warning",
        "iceberg.coming": "ok",
    }
    assert "no longer updated" in found["iceberg.former"].detail
    assert "column tags" in found["iceberg.orders_cow"].detail


def test_lag_is_a_warning_with_the_command_that_ends_it(settings: Settings) -> None:
    update_views(settings, ["archived"])
    timeline = Path(settings.lake) / "archived/.hoodie/timeline"
    newest = max(timeline.glob("*_*commit"), key=lambda path: path.name.partition("_")[2])
    requested, _, action = newest.name.partition("_")[2].partition(".")
    (timeline / f"{int(requested) + 10}_{int(requested) + 20}.{action}").write_bytes(newest.read_bytes())
    found = {one.name: one for one in iter_iceberg_findings(settings, NOW)}["iceberg.archived"]
    assert found.status == "warning"
    assert "1 commits behind" in found.detail
    assert found.fix == "`headwater run` brings it up to date"
