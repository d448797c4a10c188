"""Which services may be beside a run, and which tables leave something to `services run`; no JVM."""

import threading
from pathlib import Path
from typing import Any

import pytest

from headwater.app.duty import find_duty, list_served
from headwater.app.roles import choose_roles
from headwater.app.services.writer_lease import hold_for_run, hold_for_service, is_alone
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.errors import TableBusyError, UsageError
from headwater.lake.services.maintenance import Duty

LOGGED = {"path": "*.json", "table_type": "merge_on_read"}
TABLES = {
    "plain": {"path": "*.json"},
    "half": LOGGED | {"services": "semi_async"},
    "left": LOGGED | {"services": "async"},
}


def build(folder: Path, lock: dict[str, Any] | None = None, tables: dict[str, Any] = TABLES) -> Settings:
    return Settings.model_validate(
        {
            "source": {"type": "local", "path": str(folder / "in")},
            "lake": str(folder / "lake"),
            "tables": tables,
            "lock": lock,
        }
    )


FILES = {"provider": "file_system"}


@pytest.mark.parametrize(
    ("command", "table", "alone"),
    [
        ("compact", "plain", True),
        ("compact", "left", False),
        ("cluster", "half", False),
        ("clean", "plain", False),
        ("archive", "plain", False),
        ("delete", "plain", False),
        ("restore", "left", True),
        ("rollback", "left", True),
        ("index create", "left", True),
        ("index repair", "plain", True),
        ("compact", "ledger", True),
        ("services run", "left", False),
    ],
)
def test_services_that_execute_plans_exclude_writers(tmp_path, command, table, alone):
    assert is_alone(command, build(tmp_path, FILES).tables.get(table)) == alone


def test_worker_runs_services_delegated_by_writers(tmp_path):
    tables = build(tmp_path, FILES).tables
    assert find_duty(tables["plain"]) is None
    assert find_duty(tables["half"]) == Duty(plans=False, cleans=False)
    assert find_duty(tables["left"]) == Duty(plans=True, cleans=True)
    sorted_files = {"clustering": {"after": 4}, "max_pending_clustering": 2}
    for services, clusters in (("semi_async", 0), ("async", 2)):
        config = TableConfig(path="*.json", services=services, **sorted_files)
        assert find_duty(config) == Duty(
            plans=services == "async", clusters=clusters, cleans=services == "async"
        )


def test_idle_worker_error_names_the_setting(tmp_path):
    settings = build(tmp_path, FILES)
    assert list_served(settings, []) == ["half", "left"]
    assert list_served(settings, ["left"]) == ["left"]
    with pytest.raises(UsageError, match="plain leaves no services to") as plain:
        list_served(settings, ["plain"])
    assert plain.value.hint == "set tables.plain.services"
    with pytest.raises(UsageError, match="nowhere is not configured"):
        list_served(settings, ["nowhere"])
    with pytest.raises(UsageError, match="no table leaves services"):
        list_served(build(tmp_path, tables={"plain": TABLES["plain"]}), [])


def test_two_of_one_process_exclude_each_other_as_two_processes_do(tmp_path, monkeypatch):
    monkeypatch.setattr("headwater.app.services.writer_lease._ONCE_PATIENCE", 0)
    settings, stop = build(tmp_path, FILES), threading.Event()
    with hold_for_run(settings, choose_roles(settings), stop, once=True):
        plain = choose_roles(settings, tables=["plain"])
        with pytest.raises(TableBusyError), hold_for_run(settings, plain, stop, once=True):
            pass
        with hold_for_service(settings, "services run", ["half", "left"]):
            pass
        with hold_for_service(settings, "clean", ["plain"]):
            pass
