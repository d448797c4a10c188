"""What catalogs are told of a table, read of its files."""

import shutil
from pathlib import Path

import pytest

from headwater.errors import LakeError, TableUnsupportedError
from headwater.lake.catalogs.entries import EntryRules, build_entries
from headwater.lake.catalogs.table_state import TableState, read_table_state
from headwater.lake.layout import TableAddress
from tests.fixtures.lakes import FIXTURE_LAKE


def copy(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(FIXTURE_LAKE / name, folder / name))


def read(table: Path) -> TableState | None:
    return read_table_state(TableAddress(table.name, str(table)))


def test_columns_of_a_table_whose_days_are_in_folders_only_are_those_of_its_newest_file() -> None:
    state = read(FIXTURE_LAKE / "folder_days")
    assert state is not None
    (entry,) = build_entries(state, EntryRules(meta_columns=False))
    columns = [(column.name, column.type) for column in (*entry.columns, *entry.partition_keys)]
    assert columns == [
        ("id", "bigint"),
        ("amount", "decimal(10,2)"),
        ("tags", "array<string>"),
        ("day", "string"),
    ]
    assert set(entry.partitions) == {("2026-01-01",), ("2026-01-02",)}


def test_without_files_only_spark_knows_the_columns(tmp_path: Path) -> None:
    table = copy("folder_days", tmp_path)
    for file in table.rglob("*.parquet"):
        file.unlink()
    with pytest.raises(TableUnsupportedError, match="only Spark can determine its columns"):
        read(table)


def test_files_are_those_of_the_newest_state_in_their_order() -> None:
    state = read(FIXTURE_LAKE / "folder_days")
    assert state is not None
    folders = [file.partition("/")[0] for file in state.files or ()]
    assert folders == ["day=2026-01-01", "day=2026-01-02"]
    assert (state.files or ("",))[0].endswith("_20261122192558209.parquet")


def test_corrupt_replacecommit_is_not_synced(tmp_path: Path) -> None:
    table = copy("managed", tmp_path)
    before = read(table)
    assert before is not None
    for file in (table / ".hoodie/timeline").glob("*_*.replacecommit"):
        file.write_bytes(b"damaged")
    with pytest.raises(LakeError, match="cannot determine the files of the latest snapshot"):
        read(table)
