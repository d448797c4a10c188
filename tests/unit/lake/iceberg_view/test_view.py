"""A view of the fixture tables, read by pyiceberg and DuckDB: the rows of hudi-rs, whatever happened."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyiceberg
import pytest
from pyarrow import parquet
from pyiceberg.table import StaticTable

from headwater.errors import IcebergViewError, TableUnsupportedError
from headwater.lake.file_store import FileStore
from headwater.lake.iceberg_view.view import IcebergView
from headwater.lake.layout import TableAddress
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.iceberg_readers import Rows, read_by_duckdb, read_by_pyiceberg
from tests.fixtures.lakes import FIXTURE_LAKE


class Lake:
    """A copy of one fixture table, and its view. The fixtures' lists have the structure of older releases."""

    def __init__(self, folder: Path, name: str, *, old_lists: bool = False) -> None:
        self.table = folder / name
        self.address = str(folder / "views" / name)
        shutil.copytree(FIXTURE_LAKE / name, self.table)
        for path in () if old_lists else self.table.rglob("*.parquet"):
            if ".hoodie" not in path.parts:
                parquet.write_table(parquet.ParquetFile(path).read(), path)
        self.view = self.open()

    def open(self) -> IcebergView:
        return IcebergView(TableAddress("orders", str(self.table)), FileStore(self.address, dict))

    def list_commits(self) -> list[Path]:
        """The completed commits, oldest first."""
        found = (self.table / ".hoodie/timeline").glob("*_*commit")
        return sorted(found, key=lambda path: path.name.partition("_")[2])

    def read_table(self, **options: Any) -> list[str]:
        rows = SnapshotReader(str(self.table)).read(**options).to_pylist()
        return normalize([{k: v for k, v in row.items() if not k.startswith("_hoodie")} for row in rows])

    def read_view(self) -> list[str]:
        found = normalize(read_by_pyiceberg(self.address))
        assert normalize(read_by_duckdb(self.address)) == found
        return found

    def list_metadata(self) -> set[str]:
        return {path.name for path in (Path(self.address) / "metadata").iterdir()}


def normalize(rows: Rows) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


@pytest.mark.parametrize("name", ["orders_cow", "archived", "odd_partitions"])
def test_rows_are_those_of_the_table(tmp_path: Path, name: str) -> None:
    lake = Lake(tmp_path, name)
    done = lake.view.update()
    assert done is not None
    assert (done.is_changed, done.removed, done.completed) == (True, 0, done.newest)
    assert lake.read_view() == lake.read_table()
    before = lake.list_metadata()
    again = lake.open().update()
    assert again is not None
    assert not again.is_changed
    assert lake.list_metadata() == before


def test_lists_of_older_releases_are_refused_with_their_column(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_cow", old_lists=True)
    with pytest.raises(IcebergViewError, match="column tags: lists have the two-level structure") as caught:
        lake.view.update()
    assert "headwater table orders upgrade" in caught.value.hint
    assert lake.view.find_shown() is None


def test_each_commit_is_one_snapshot_with_the_files_that_changed(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_cow")
    commits = lake.list_commits()
    later = tmp_path / "later"
    later.mkdir()
    for path in commits[1:]:
        path.rename(later / path.name)
    ids, schemas = [], []
    for path in commits:
        if not path.exists():
            (later / path.name).rename(path)
        done = lake.view.update()
        assert done is not None
        assert lake.read_view() == lake.read_table()
        table = StaticTable.from_metadata(lake.address)
        snapshot = table.current_snapshot()
        assert snapshot is not None
        assert table.metadata.snapshots == [snapshot]
        assert f"_{done.completed}." in path.name
        ids.append(snapshot.snapshot_id)
        schemas.append({field.name: field.field_id for field in table.schema().fields})
    assert len(set(ids)) == len(commits) > 1
    # Columns keep their ids.
    assert all(schemas[-1][name] == number for schema in schemas for name, number in schema.items())


def test_a_commit_that_was_rolled_back_leaves_the_view(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_cow")
    lake.view.update()
    first = lake.read_view()
    lake.list_commits()[-1].unlink()
    done = lake.view.update()
    assert done is not None
    assert done.removed
    assert lake.read_view() == lake.read_table() != first


def test_update_that_was_killed_before_its_last_step_changes_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_cow")
    newest = lake.list_commits()[-1]
    newest.rename(tmp_path / newest.name)
    lake.view.update()
    before = lake.read_view()
    (tmp_path / newest.name).rename(newest)
    lake.view.update()
    # The hint is what an update writes last.
    (Path(lake.address) / "metadata/version-hint.text").write_text("1")
    assert lake.read_view() == before
    done = lake.open().update()
    assert done is not None
    assert done.is_changed
    assert lake.read_view() == lake.read_table() != before


def test_uncompacted_rows_are_refused_before_the_first_compaction(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_mor")
    for path in lake.list_commits()[:1]:
        path.rename(tmp_path / path.name)
    with pytest.raises(IcebergViewError, match="rows of each state are in log files") as caught:
        lake.view.update()
    assert "headwater table orders compact" in caught.value.hint
    assert lake.view.find_shown() is None


def test_merge_on_read_table_is_shown_as_of_its_last_state_without_logs(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_mor")
    commits = [path.name.partition("_")[0] for path in lake.list_commits()]
    done = lake.view.update()
    assert done is not None
    assert done.completed < done.newest
    assert lake.read_view() == lake.read_table(as_of=commits[0])
    shown = lake.view.find_shown()
    assert shown is not None
    assert shown.requested == commits[0]


def test_view_says_so_if_files_that_it_names_were_removed(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_mor")
    lake.view.update()
    next(iter(sorted(lake.table.rglob("*.parquet")))).unlink()
    with pytest.raises(
        IcebergViewError, match="files of the commit that the Iceberg view shows were removed"
    ):
        lake.view.update()


def test_copy_of_a_lake_has_a_view_of_its_own(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "first", "orders_cow")
    lake.view.update()
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    shutil.rmtree(tmp_path / "first")
    table, address = tmp_path / "second/orders_cow", str(tmp_path / "second/views/orders_cow")
    IcebergView(TableAddress("orders", str(table)), FileStore(address, dict)).update()
    assert len(read_by_pyiceberg(address)) == SnapshotReader(str(table)).count_rows()


def test_previous_versions_stay_for_a_while_unless_they_must_not(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_cow")
    newest = lake.list_commits()[-1]
    newest.rename(tmp_path / newest.name)
    lake.view.update()
    (tmp_path / newest.name).rename(newest)
    lake.view.update()
    assert {"v1.metadata.json", "v2.metadata.json"} <= lake.list_metadata()
    lake.view.update(at_once=True)
    found = lake.list_metadata()
    assert {"v2.metadata.json", "version-hint.text"} <= found
    assert not any(name.startswith("v1") for name in found)
    table = StaticTable.from_metadata(lake.address)
    (snapshot,) = table.metadata.snapshots
    named = {one.manifest_path for one in snapshot.manifests(table.io)} | {snapshot.manifest_list}
    assert {name for name in found if name.endswith(".avro")} == {Path(one).name for one in named}
    assert lake.read_view() == lake.read_table()
    lake.view.remove()
    assert lake.list_metadata() == set()


def test_view_without_its_manifests_is_written_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_cow")
    lake.view.update()
    before = lake.read_view()
    for path in (Path(lake.address) / "metadata").glob("*.avro"):
        path.unlink()
    done = lake.open().update()
    assert done is not None
    assert done.is_changed
    assert lake.read_view() == before


def test_compatibility_page_names_the_readers_that_are_run() -> None:
    page = (Path(__file__).parents[4] / "docs/reference/compatibility.md").read_text("utf-8")
    for name, version in (("pyiceberg", pyiceberg.__version__), ("DuckDB", duckdb.__version__)):
        assert f"| {name} {version.rpartition('.')[0]}" in page


def test_examples_of_the_page_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[4] / "docs/how-to/iceberg-views.md").read_text("utf-8")
    lake = Lake(tmp_path, "orders_cow")
    lake.view.update()

    def find_block(language: str) -> str:
        found = re.search(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        assert found is not None
        address = "s3://acme-lake/bronze/_headwater/iceberg/orders"
        assert address in found[1]
        return found[1].replace(address, lake.address).replace("amount > 20", "price > 1")

    exec(compile(find_block("python"), "iceberg-views.md", "exec"), {})
    assert "order_id" in capsys.readouterr().out
    select = find_block("sql").removeprefix("SELECT ").partition(" FROM ")[0]
    assert read_by_duckdb(lake.address, f"{select} as n") == [{"n": len(lake.read_table())}]


def test_table_without_partition_columns_in_its_files_is_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "folder_days")
    with pytest.raises(TableUnsupportedError, match="the partition columns are not in the files"):
        lake.view.update()


def test_metadata_of_another_program_is_not_replaced(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "orders_cow")
    lake.view.update()
    path = Path(lake.address) / "metadata/v1.metadata.json"
    path.write_text("{}")
    with pytest.raises(IcebergViewError, match="cannot read the metadata") as caught:
        lake.open().update()
    assert "delete the folder" in caught.value.hint
