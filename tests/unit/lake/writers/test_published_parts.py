"""The states of a run's parts as other processes see them, in its lease."""

import json
from pathlib import Path

import pytest

from headwater.lake.layout import writers_path
from headwater.lake.writers.lease import Lease, parse_lease
from headwater.lake.writers.process import Process
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease, read_writers
from headwater.observability.part_board import PartBoard
from headwater.observability.part_state import PartState
from tests.fixtures.waiting import wait_until


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.lake.writers.writer_lease._PUBLISH_SECONDS", 0.01)


def build(lake: Path) -> WriterLease:
    return WriterLease(str(lake), {}, Intent("run", "run", ("orders", "clicks")))


def read_parts(lake: Path) -> dict[str, PartState]:
    return {name: state for lease in read_writers(str(lake), {}) for name, state in lease.parts.items()}


def read_errors(lake: Path) -> dict[str, str]:
    return {name: state.error for name, state in read_parts(lake).items() if state.error}


def test_parts_of_an_active_run_are_visible_and_end_with_it(tmp_path: Path) -> None:
    board, lease = PartBoard(), build(tmp_path)
    assert read_parts(tmp_path) == {}
    with lease.entered(Patience(0)):
        board.add("session").note("up")
        board.subscribe(lease.note_part)
        wait_until(lambda: read_parts(tmp_path) == board.read())
    assert read_parts(tmp_path) == {}


def test_errors_are_published_until_the_part_succeeds(tmp_path: Path) -> None:
    board, lease = PartBoard(), build(tmp_path)
    orders, clicks = board.add("table-orders"), board.add("table-clicks")
    with lease.entered(Patience(0)):
        board.subscribe(lease.note_part)
        orders.retry("no space left")
        clicks.note("waiting")
        wait_until(lambda: read_errors(tmp_path) == {"table-orders": "no space left"})
        orders.note("waiting")
        wait_until(lambda: read_errors(tmp_path) == {})
        clicks.fail("a check")
        wait_until(lambda: read_errors(tmp_path) == {"table-clicks": "a check"})


def test_only_a_change_is_written(tmp_path: Path) -> None:
    board, lease = PartBoard(), build(tmp_path)
    orders = board.add("table-orders")
    orders.note("waiting")
    with lease.entered(Patience(0)):
        board.subscribe(lease.note_part)
        wait_until(lambda: read_parts(tmp_path))
        (file,) = Path(writers_path(str(tmp_path))).glob("*.json")
        before = file.stat().st_mtime_ns
        lease.note_part("table-orders", board.read()["table-orders"])
        orders.retry("no space left")
        wait_until(lambda: file.stat().st_mtime_ns > before)
        assert read_errors(tmp_path) == {"table-orders": "no space left"}


def test_parts_of_a_killed_run_are_not_listed(tmp_path: Path) -> None:
    board, lease = PartBoard(), build(tmp_path)
    board.add("table-orders").fail("a check")
    with lease.entered(Patience(0)):
        board.subscribe(lease.note_part)
        wait_until(lambda: read_parts(tmp_path))
        (file,) = Path(writers_path(str(tmp_path))).glob("*.json")
        content = json.loads(file.read_text("utf-8"))
    content["processes"] = [{"number": 2**22 + 1, "started": 1}]
    file.write_text(json.dumps(content), "utf-8")
    assert read_parts(tmp_path) == {}


def test_a_lease_is_replaced_as_a_whole(tmp_path: Path) -> None:
    with build(tmp_path).entered(Patience(0)):
        names = [file.name for file in Path(writers_path(str(tmp_path))).iterdir()]
    assert [Path(name).suffix for name in names] == [".json"]


def test_fields_of_another_release_are_ignored() -> None:
    lease = Lease("t", "run", "run", ("orders",), False, "here", (Process(1, 1),), "now")
    content = json.loads(lease.to_bytes())
    del content["parts"]
    assert parse_lease(json.dumps(content | {"failures": {}}).encode()) == lease
