"""Machines that keep copies of the ledger: whichever one runs, the ledger is as if there was only one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.config.environment import find_state_folder
from headwater.ingest.ledger.copy_files import find_copy_file
from headwater.ingest.ledger.ledger import Ledger
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.planning.ledger_entry import LedgerEntry
from tests.fixtures.folder_lake import FolderLake

ORDERS = {"path": "*.json", "schema": "n bigint", "mode": "mirror", "table_type": "merge_on_read"}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> FolderLake:
    return FolderLake(spark, tmp_path, orders=ORDERS)


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables whose states were read from the ledger as a whole."""
    found: list[str] = []
    read = Ledger.iter_texts

    def note(ledger: Ledger, table: str) -> Iterator[tuple[str, str]]:
        found.append(table)
        return read(ledger, table)

    monkeypatch.setattr(Ledger, "iter_texts", note)
    return found


def name_environment(lake: FolderLake, machine: str) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(Path(lake.lake).parent / machine)}


def run(lake: FolderLake, machine: str, *, until: str = "end") -> None:
    """A process on a machine ingests what there is, and writes the ledger at its end unless it is killed."""
    app = App(lake.settings, spark=lake.app.spark, environ=name_environment(lake, machine))
    pipeline = app.build_pipeline("orders")
    while pipeline.run_batch() is not None:
        pass
    if until == "end":
        pipeline.save_checkpoint()
    else:
        # As its death does.
        pipeline._ledger.close()


def read_copy(lake: FolderLake, machine: str, *keys: str) -> dict[str, LedgerEntry]:
    """The states in the copy of a machine, by key."""
    file = find_copy_file(find_state_folder(name_environment(lake, machine)), lake.lake, "orders")
    local = LocalStates(file)
    assert local.open() is not None
    found = local.find([name_object(lake, key) for key in keys])
    local.close()
    return {state.key: state for state in found.values()}


def name_object(lake: FolderLake, key: str) -> str:
    return lake.capture(key).event.object_id


def read_ledger(lake: FolderLake, *keys: str) -> dict[str, LedgerEntry]:
    found = lake.app.stores.ledger.read_states("orders", [name_object(lake, key) for key in keys])
    return {state.key: state for state in found.values()}


@pytest.mark.slow
def test_machine_continues_with_its_copy_after_others_have_written(
    lake: FolderLake, copied: list[str]
) -> None:
    keys = ("1.json", "2.json", "3.json")
    lake.put("1.json", '{"n": 1}')
    lake.put("2.json", '{"n": 2}')
    run(lake, "a")
    assert copied == ["orders"]
    lake.put("1.json", '{"n": 10}')
    run(lake, "a")
    assert copied == ["orders"]
    assert read_copy(lake, "a", *keys) == read_ledger(lake, *keys)
    # Another machine takes over; its copy is new, and the first one's grows old.
    lake.announce("2.json", kind="removed")
    lake.put("3.json", '{"n": 3}')
    run(lake, "b")
    lake.put("1.json", '{"n": 100}')
    run(lake, "b", until="killed")
    assert copied == ["orders", "orders"]
    lake.announce("3.json", kind="removed")
    run(lake, "a")
    assert copied == ["orders", "orders"]
    assert lake.rows("orders", "n") == [(100,)]
    states = read_ledger(lake, *keys)
    assert read_copy(lake, "a", *keys) == states
    assert {key: (state.status, state.events) for key, state in states.items()} == {
        "1.json": ("ingested", 3),
        "2.json": ("removed", 2),
        "3.json": ("removed", 2),
    }


def test_copy_that_is_ahead_of_a_restored_lake_is_made_anew(
    lake: FolderLake, copied: list[str], tmp_path: Path
) -> None:
    lake.put("1.json", '{"n": 1}')
    run(lake, "a")
    shutil.copytree(lake.lake, tmp_path / "backup")
    lake.put("1.json", '{"n": 10}')
    run(lake, "a")
    assert copied == ["orders"]
    shutil.rmtree(lake.lake)
    shutil.copytree(tmp_path / "backup", lake.lake)
    lake.put("1.json", '{"n": 100}')
    run(lake, "a")
    assert copied == ["orders", "orders"]
    assert lake.rows("orders", "n") == [(100,)]
    assert read_copy(lake, "a", "1.json") == read_ledger(lake, "1.json")
    assert read_copy(lake, "a", "1.json")["1.json"].events == 2
