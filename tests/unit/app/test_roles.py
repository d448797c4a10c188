"""Which roles processes of one lake may take on at the same time; no JVM."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.app.roles import ROLES, Role, choose_roles
from headwater.app.services.writer_lease import (
    hold_for_command,
    hold_for_reconcile,
    hold_for_run,
    hold_for_service,
)
from headwater.cli.run import RoleName
from headwater.config.settings import Settings
from headwater.errors import TableBusyError, UsageError
from headwater.lake.writers.writer_lease import Patience

FILES = {"provider": "file_system"}
TABLES = {
    "a": {"path": "a/*.json"},
    "b": {"path": "b/*.json", "table_type": "merge_on_read", "services": "async"},
}
QUEUE = {"type": "s3", "bucket": "landing", "queue": {"url": "https://sqs.eu-west-1.amazonaws.com/1/q"}}
SEARCH = {"table": "a", "text": ["{title}"]}


def build(
    folder: Path,
    *,
    lock: dict[str, Any] | None = FILES,
    search: Any = None,
    tables: Any = TABLES,
    source: Any = None,
) -> Settings:
    return Settings.model_validate(
        {
            "source": source or {"type": "local", "path": str(folder / "in")},
            "lake": str(folder / "lake"),
            "tables": tables,
            "lock": lock,
            "search": search,
        }
    )


@contextmanager
def process(settings: Settings, *only: Role, tables: Iterable[str] = ()) -> Iterator[None]:
    """The lease of a process with these roles."""
    roles = choose_roles(settings, only, list(tables))
    with hold_for_run(settings, roles, threading.Event(), once=True):
        yield


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.app.services.writer_lease._ONCE_PATIENCE", 0)
    monkeypatch.setattr("headwater.app.services.writer_lease.Patience", lambda *_: Patience(0))


def test_with_a_lock_each_role_and_each_table_has_a_process_of_its_own(tmp_path: Path) -> None:
    settings = build(tmp_path, search=SEARCH)
    with (
        process(settings, "capture"),
        process(settings, "tables", tables=["a"]),
        process(settings, "tables", tables=["b"]),
        process(settings, "index"),
        process(settings, "services"),
    ):
        pass


@pytest.mark.parametrize(
    ("only", "tables", "contested"),
    [
        (("capture",), (), "events"),
        (("tables",), ("a",), "a"),
        (("tables",), (), "a"),
        (("index",), (), "chunks"),
        (("capture", "index"), (), "chunks|events"),
        ((), (), "a|events|chunks"),
    ],
)
def test_nobody_takes_on_what_another_process_does(
    tmp_path: Path, only: tuple[Role, ...], tables: tuple[str, ...], contested: str
) -> None:
    settings = build(tmp_path, search=SEARCH)
    with (
        process(settings, "capture"),
        process(settings, "tables", tables=["a"]),
        process(settings, "index"),
        pytest.raises(TableBusyError, match=f"({contested}).*: being written by run --only"),
        process(settings, *only, tables=tables),
    ):
        pass


def test_any_number_of_processes_captures_from_a_queue_and_one_of_them_reconciles(tmp_path: Path) -> None:
    settings, stop = build(tmp_path, source=QUEUE), threading.Event()
    with (
        process(settings, "capture"),
        process(settings, "capture"),
        hold_for_reconcile(settings, stop, patience=0),
        pytest.raises(TableBusyError, match="reconciles: being written by run --only capture"),
        hold_for_reconcile(settings, stop, patience=0),
    ):
        pass
    with (
        process(settings, "capture"),
        pytest.raises(
            TableBusyError, match="events, ledger, quarantine: being written by run --only capture"
        ),
        hold_for_command(settings, "reconcile"),
    ):
        pass


def test_commands_wait_for_every_role(tmp_path: Path) -> None:
    settings = build(tmp_path)
    with (
        process(settings, "tables", tables=["a"]),
        pytest.raises(TableBusyError),
        hold_for_command(settings, "quarantine retry"),
    ):
        pass
    with process(settings, "capture"):
        # It executes plans that a writer of the ledger executes, too.
        with (
            pytest.raises(TableBusyError, match="ledger: being written by run --only capture"),
            hold_for_service(settings, "compact", ["ledger"]),
        ):
            pass
        with hold_for_service(settings, "compact", ["b"]):
            pass


def test_without_a_lock_roles_exclude_each_other_and_the_error_names_the_lock(tmp_path: Path) -> None:
    settings = build(tmp_path, lock=None, tables={"a": TABLES["a"]})
    with (
        process(settings, "capture"),
        pytest.raises(TableBusyError, match="ledger, quarantine: being written by run --only capture") as e,
        process(settings, "tables"),
    ):
        pass
    assert "set `lock`" in (e.value.hint or "")


def test_roles_without_work_are_refused(tmp_path: Path) -> None:
    settings = build(tmp_path)
    with pytest.raises(UsageError, match="nothing to index"):
        choose_roles(settings, ["index"])
    with pytest.raises(UsageError, match="--table restricts tables and services, not capture"):
        choose_roles(settings, ["capture"], ["a"])
    with pytest.raises(UsageError, match="a process of their own"):
        choose_roles(settings, ["services", "tables"])
    with pytest.raises(UsageError, match="a leaves no services"):
        choose_roles(settings, ["services"], ["a"])


def test_the_command_knows_all_roles() -> None:
    assert tuple(name.value for name in RoleName) == ROLES


def test_the_roles_are_in_the_name_of_the_command(tmp_path: Path) -> None:
    settings = build(tmp_path, search=SEARCH)
    assert choose_roles(settings).describe() == "run"
    assert choose_roles(settings, ["index", "capture"]).describe() == "run --only capture --only index"
