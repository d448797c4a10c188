"""One rehearsal of a lake at a time, next to a run."""

import threading
from pathlib import Path

import pytest

from headwater.app.roles import choose_roles
from headwater.app.services.writer_lease import hold_for_command, hold_for_rehearsal, hold_for_run
from headwater.config.settings import Settings
from headwater.errors import TableBusyError
from headwater.lake.writers.writer_lease import Patience


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr("headwater.app.services.writer_lease.Patience", lambda *_: Patience(0.0))
    (tmp_path / "landing").mkdir()
    source = {"type": "local", "path": str(tmp_path / "landing")}
    tables = {"orders": {"path": "*.json"}}
    return Settings.model_validate({"source": source, "lake": str(tmp_path / "lake"), "tables": tables})


def test_second_rehearsal_is_rejected(settings: Settings) -> None:
    second = hold_for_rehearsal(settings)
    with hold_for_rehearsal(settings), pytest.raises(TableBusyError, match="being written by rehearse"):
        second.__enter__()
    with hold_for_rehearsal(settings):
        pass


def test_run_and_rehearsal_do_not_exclude_each_other(settings: Settings) -> None:
    run = hold_for_run(settings, choose_roles(settings), threading.Event(), once=True)
    with run, hold_for_rehearsal(settings):
        pass
    with hold_for_command(settings, "rehearse --apply"), hold_for_rehearsal(settings):
        pass
