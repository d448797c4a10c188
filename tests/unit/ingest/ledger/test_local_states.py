"""Object states copied to this machine: the last one put is found, and the next process continues with it."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.capture.position import Position
from headwater.errors import LakeError
from headwater.ingest.ledger.copy_files import find_copy_file
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.state_text import format_state
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.planning.ledger_entry import LedgerEntry

MANY = 2_000
FIRST = Watermark("20260501000000000", Position("20260430000000000", 7), has_unconfirmed=True)
SECOND = Watermark("20260502000000000", Position("20260501000000000", 1))


def build_state(number: int, **values: Any) -> LedgerEntry:
    return replace(LedgerEntry(f"id-{number}", "s3", "landing", f"in/{number}.json"), **values)


def read(*numbers: int) -> Iterator[tuple[str, str]]:
    return ((f"id-{number}", format_state(build_state(number))) for number in numbers)


@pytest.fixture(params=["kept", "unnamed"])
def local(request: pytest.FixtureRequest, tmp_path: Path) -> LocalStates:
    return LocalStates(tmp_path / "new" / "orders.sqlite" if request.param == "kept" else None)


def test_loaded_states_are_found_and_others_omitted(local: LocalStates) -> None:
    states = {f"id-{number}": build_state(number, rows=number) for number in range(MANY)}
    assert local.open() is None
    local.load(lambda: ((name, format_state(state)) for name, state in states.items()), FIRST)
    assert local.open() == FIRST
    assert local.find(states.keys()) == states
    assert local.find(["id-7", "nobody", "id-8"]) == {name: states[name] for name in ("id-7", "id-8")}
    assert local.find(()) == {}


def test_last_put_wins(local: LocalStates) -> None:
    local.load(lambda: read(1), FIRST)
    local.put([build_state(1, rows=1), build_state(2)], FIRST)
    odd = build_state(1, rows=5, detail="it's “odd”; DROP TABLE states")
    local.put([odd], SECOND)
    assert local.find(["id-1", "id-2"]) == {"id-1": odd, "id-2": build_state(2)}
    assert local.open() == SECOND


def test_another_load_replaces_everything(local: LocalStates) -> None:
    local.load(lambda: read(1, 2), FIRST)
    local.load(lambda: read(2, 3), SECOND)
    assert sorted(local.find(["id-1", "id-2", "id-3"])) == ["id-2", "id-3"]
    assert local.open() == SECOND


def test_failed_load_leaves_no_copy(local: LocalStates, tmp_path: Path) -> None:
    def fail() -> Iterator[tuple[str, str]]:
        yield from read(1)
        raise LakeError("the ledger cannot be read")

    local.load(lambda: read(1, 2), FIRST)
    with pytest.raises(LakeError, match="cannot be read"):
        local.load(fail, SECOND)
    assert local.open() is None
    assert list(tmp_path.glob("*/*")) == []
    with pytest.raises(RuntimeError, match="neither open nor loaded"):
        local.find(["id-1"])
    assert LocalStates(tmp_path / "new" / "orders.sqlite").open() is None


def test_next_process_continues_with_the_copy(tmp_path: Path) -> None:
    file = tmp_path / "orders.sqlite"
    first = LocalStates(file)
    first.load(lambda: read(1, 2), FIRST)
    first.put([build_state(2, rows=5)], SECOND)
    first.close()
    assert [path.name for path in tmp_path.iterdir()] == ["orders.sqlite"]
    second = LocalStates(file)
    assert second.open() == SECOND
    assert second.find(["id-1", "id-2"]) == {"id-1": build_state(1), "id-2": build_state(2, rows=5)}


PUTS_UNTIL_KILLED = """
import os, signal
from pathlib import Path
from tests.unit.ingest.ledger.test_local_states import *
local = LocalStates(Path({file!r}))
local.load(lambda: read(*range(3000)), FIRST)
for rows in range(1, 30):
    local.put([build_state(number, rows=rows) for number in range(3000)], replace(FIRST, commit=str(rows)))
    if rows == 20:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_process_leaves_a_whole_copy(tmp_path: Path) -> None:
    file = tmp_path / "orders.sqlite"
    subprocess.run([sys.executable, "-c", PUTS_UNTIL_KILLED.format(file=str(file))], check=False, timeout=60)
    left = LocalStates(file)
    assert left.open() == replace(FIRST, commit="20")
    assert {state.rows for state in left.find([f"id-{number}" for number in range(3000)]).values()} == {20}


def test_process_killed_while_it_loaded_leaves_nothing_that_counts(tmp_path: Path) -> None:
    file = tmp_path / "orders.sqlite"
    (tmp_path / "orders.sqlite.loading").write_bytes(b"half of a file")
    (tmp_path / "orders.sqlite-wal").write_bytes(b"of a file that is deleted")
    local = LocalStates(file)
    assert local.open() is None
    local.load(lambda: read(1), FIRST)
    assert list(local.find(["id-1"])) == ["id-1"]
    local.close()
    assert [path.name for path in tmp_path.iterdir()] == ["orders.sqlite"]


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"x" * 5000])
def test_file_that_is_no_copy_is_replaced(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "orders.sqlite"
    file.write_bytes(content)
    local = LocalStates(file)
    assert local.open() is None
    local.load(lambda: read(1), FIRST)
    local.close()
    assert LocalStates(file).open() == FIRST


def test_copy_of_another_release_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "orders.sqlite"
    first = LocalStates(file)
    first.load(lambda: read(1), FIRST)
    first.close()
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA user_version = 1")
    database.close()
    assert LocalStates(file).open() is None
    assert not file.exists()


def test_file_in_use_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "orders.sqlite"
    first = LocalStates(file)
    first.load(lambda: read(1), FIRST)
    second = LocalStates(file)
    assert second.open() is None
    second.load(lambda: read(2), SECOND)
    first.put([build_state(3)], SECOND)
    assert sorted(first.find(["id-1", "id-2", "id-3"])) == ["id-1", "id-3"]
    assert sorted(second.find(["id-1", "id-2", "id-3"])) == ["id-2"]


def test_folder_that_cannot_be_written_needs_no_copy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    local = LocalStates(tmp_path / "file" / "orders.sqlite")
    assert local.open() is None
    local.load(lambda: read(1), FIRST)
    local.put([build_state(2)], SECOND)
    assert sorted(local.find(["id-1", "id-2"])) == ["id-1", "id-2"]


def test_copy_that_becomes_corrupt_is_deleted_and_loaded_again(tmp_path: Path) -> None:
    file = tmp_path / "orders.sqlite"
    local = LocalStates(file)
    local.load(lambda: read(*range(MANY)), FIRST)
    local.close()
    assert local.open() == FIRST
    size = file.stat().st_size
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(b"\xff" * (size - 4096))
    with pytest.raises(
        LakeError, match=r"copy of object states in .*orders\.sqlite cannot be used"
    ) as raised:
        local.find([f"id-{number}" for number in range(MANY)])
    assert "copied from the ledger again" in raised.value.hint
    assert local.open() is None
    local.load(lambda: read(1), SECOND)
    assert list(local.find(["id-1"])) == ["id-1"]


def test_each_table_of_each_lake_has_its_own_file_and_old_ones_are_deleted(tmp_path: Path) -> None:
    names = [("s3a://lake/a", "orders"), ("s3a://lake/a", "clicks"), ("s3a://lake/b", "orders")]
    files = [find_copy_file(tmp_path, *name) for name in names]
    assert len(set(files)) == 3
    for file in files:
        LocalStates(file).load(lambda: read(1), FIRST)
    old = files[0]
    os.utime(old, (1, 1))
    Path(f"{files[1]}-wal").touch()
    os.utime(f"{files[1]}-wal", (1, 1))
    assert find_copy_file(tmp_path, *names[0]) == old
    assert not old.exists()
    assert Path(f"{files[1]}-wal").exists()
