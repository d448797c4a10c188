"""The Iceberg view of a table equals `headwater sql` after each change: by pyiceberg, DuckDB and Spark."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headwater as hw
from headwater.app import App
from headwater.app.command import open_service_table
from headwater.app.iceberg import IcebergStatus, IcebergViews
from headwater.capture.position import parse_instant
from headwater.lake.services.savepoints import create_savepoint, restore
from tests.fixtures.iceberg_readers import read_by_duckdb, read_by_pyiceberg

pytestmark = pytest.mark.slow
OPTIONS: dict[str, dict[str, Any]] = {
    "copy_on_write": {},
    "merge_on_read": {"table_type": "merge_on_read", "compact_after": 100},
}
TYPES = (
    "id bigint, name string, small int, price double, rate float, paid boolean, total decimal(20,4), "
    "day date, at timestamp, raw binary, tags array<string>, "
    "lines array<struct<sku: string, sizes: array<int>>>, notes map<string, struct<n: int>>, "
    "address struct<city: string, geo: struct<lat: double>>"
)
FULL = {
    "name": "a",
    "small": 1,
    "price": 2.5,
    "rate": 0.5,
    "paid": True,
    "total": "12.3456",
    "day": "2026-01-02",
    "at": "2026-01-02T03:04:05.123456Z",
    "raw": "aGk=",
    "tags": ["x", None],
    "lines": [{"sku": "s", "sizes": [1, None]}, None],
    "notes": {"k": {"n": 1}, "none": None},
    "address": {"city": "c", "geo": {"lat": 1.5}},
}


class Shop:
    """A folder of JSON files, and a lake with the table `orders`."""

    def __init__(self, folder: Path, spark: SparkSession, **table: Any) -> None:
        self.folder, self.spark = folder, spark
        self.landing = folder / "landing"
        self.landing.mkdir()
        self.table = {"path": "*.json", "record_key": "id", "ordering": "at", "iceberg": True, **table}
        self.lake = self.open()
        self.address = str(folder / "lake/_headwater/iceberg/orders")

    def open(self, **table: Any) -> hw.Lake:
        source = {"type": "local", "path": str(self.landing)}
        tables = {"orders": {**self.table, **table}}
        return hw.Lake(source=source, lake=str(self.folder / "lake"), tables=tables, spark=self.spark)

    def put(self, name: str, *rows: dict[str, Any]) -> None:
        text = "".join(json.dumps({"at": "2026-01-02T00:00:00Z", **row}) + "\n" for row in rows)
        (self.landing / f"{name}.json").write_text(text)

    def run(self) -> None:
        assert not self.lake.run(progress=False).failures

    def read(self) -> list[str]:
        """The rows of the view, after a comparison of both readers."""
        rows = read_by_duckdb(self.address)
        # pyiceberg 0.12 reads such nulls as empty, in any Iceberg table: its issue 3833.
        empty: dict[str, Any] = {"lines": [], "notes": {}}
        expected = [{k: empty[k] if k in empty and v is None else v for k, v in row.items()} for row in rows]
        assert normalize(read_by_pyiceberg(self.address)) == normalize(expected)
        return normalize(rows)

    def check(self) -> list[str]:
        """The rows of the view, which are those of the table."""
        rows = self.lake.sql("select * from orders").to_arrow().to_pylist()
        shown = [
            {k: v for k, v in row.items() if not k.startswith(("_hoodie", "_headwater"))} for row in rows
        ]
        found = self.read()
        assert found == normalize(shown)
        assert self.read_by_spark("iceberg", self.address) == self.read_by_spark(
            "hudi", self.lake["orders"].path
        )
        assert self.status.lag_commits == 0
        return found

    def read_by_spark(self, kind: str, address: str) -> list[str]:
        rows = self.spark.read.format(kind).load(address)
        shown = sorted(name for name in rows.columns if not name.startswith(("_hoodie", "_headwater")))
        return sorted(row[0] for row in rows.select(F.to_json(F.struct(*shown))).collect())

    @property
    def status(self) -> IcebergStatus:
        found = self.lake.status().tables["orders"].iceberg
        assert found is not None
        return found


def normalize(rows: list[dict[str, Any]]) -> list[str]:
    # A map is a list of pairs in Arrow, and a dictionary in others.
    found = [{k: dict(v) if k == "notes" and v is not None else v for k, v in row.items()} for row in rows]
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in found)


def test_view_equals_the_table_after_rows_files_columns_and_types_change(
    tmp_path: Path, spark: SparkSession
) -> None:
    shop = Shop(tmp_path, spark, mode="mirror", schema_hints=TYPES, record_key=(), ordering=())
    shop.put("a", {"id": 1, **FULL}, {"id": 2})
    shop.put("b", {"id": 3, **FULL, "small": 7})
    shop.run()
    first = shop.check()
    assert len(first) == 3
    shop.put("a", {"id": 1, **FULL, "name": "changed"})
    (shop.landing / "b.json").unlink()
    shop.lake = shop.open(schema_hints=TYPES.replace("small int", "small bigint"))
    shop.put("c", {"id": 4, **FULL, "extra": "new column", "small": 5_000_000_000})
    shop.run()
    second = shop.check()
    assert len(second) == 2
    assert sum("new column" in row for row in second) == 1
    assert read_by_duckdb(shop.address, "max(small) as small") == [{"small": 5_000_000_000}]
    shop.lake["orders"].delete("id = 4")
    assert len(shop.check()) == 1
    shop.lake["orders"].cluster()
    assert len(shop.check()) == 1


def test_view_of_a_merge_on_read_table_is_that_of_the_last_compaction(
    tmp_path: Path, spark: SparkSession
) -> None:
    shop = Shop(tmp_path, spark, **OPTIONS["merge_on_read"], mode="merge")
    shop.put("a", *({"id": at, "name": "old"} for at in range(4)))
    shop.run()
    before = shop.check()
    shop.put("b", {"id": 1, "name": "new", "at": "2026-01-03T00:00:00Z"})
    shop.run()
    assert shop.read() == before
    status = shop.status
    assert status.lag_commits == 1
    assert status.lag_seconds > 0
    assert not status.error
    shop.lake["orders"].compact()
    after = shop.check()
    assert after != before
    assert sum('"new"' in row for row in after) == 1


def test_view_is_created_for_a_table_that_exists(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark, mode="merge")
    shop.lake = shop.open(iceberg=False)
    shop.put("a", {"id": 1}, {"id": 2})
    shop.run()
    shop.put("b", {"id": 1, "name": "new", "at": "2026-01-03T00:00:00Z"})
    shop.run()
    assert not Path(shop.address).exists()
    shop.lake = shop.open()
    assert shop.status.shown is None
    shop.run()
    assert len(shop.check()) == 2


def test_queries_work_while_the_cleaner_keeps_one_commit(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark, mode="merge", keep_commits=1)
    for number in range(4):
        shop.put(f"{number}", {"id": 1, "name": f"{number}", "at": f"2026-01-0{number + 1}T00:00:00Z"})
        shop.run()
        assert f'"{number}"' in shop.check()[0]
    before = len(list((tmp_path / "lake/orders").glob("*.parquet")))
    shop.lake["orders"].clean()
    assert len(list((tmp_path / "lake/orders").glob("*.parquet"))) < before
    assert '"3"' in shop.check()[0]


def list_bounds(shop: Shop) -> list[bytes]:
    """The bounds of all columns in the manifests."""
    files = [task.file for task in StaticTable.from_metadata(shop.address).scan().plan_files()]
    return [bound for file in files for bound in file.upper_bounds.values()]


@pytest.mark.parametrize("kind", list(OPTIONS))
def test_forgotten_rows_are_in_no_file_that_a_view_names(
    tmp_path: Path, spark: SparkSession, kind: str
) -> None:
    shop = Shop(tmp_path, spark, **OPTIONS[kind], mode="merge")
    shop.put("a", {"id": 1, "name": "ann"}, {"id": 2, "name": "zoe-to-forget"})
    shop.run()
    shop.put("b", {"id": 1, "name": "ann", "at": "2026-01-03T00:00:00Z"})
    shop.run()
    folder = Path(shop.address) / "metadata"
    assert b"zoe" in b"".join(list_bounds(shop))
    assert shop.lake["orders"].forget(["zoe-to-forget"], by="name").is_erased
    assert [json.loads(row)["id"] for row in shop.check()] == [1]
    versions = list(folder.glob("v*.metadata.json"))
    assert len(versions) == 1
    table = StaticTable.from_metadata(str(versions[0]))
    assert len(table.metadata.snapshots) == 1
    named = {task.file.file_path for task in table.scan().plan_files()}
    manifests = {one.manifest_path for one in table.metadata.snapshots[0].manifests(table.io)}
    assert {str(path) for path in folder.glob("*-m0.avro")} == manifests
    assert all(Path(path).exists() for path in named)
    assert b"zoe" not in b"".join(list_bounds(shop))


def test_restore_takes_the_view_back(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark, mode="merge")
    shop.put("a", {"id": 1, "name": "old"})
    shop.run()
    before = shop.check()
    app = App(shop.lake.settings, spark=spark)
    with open_service_table(app, "orders", "savepoint", is_owner=False) as table:
        saved = create_savepoint(table, None, "")
    shop.put("b", {"id": 1, "name": "new", "at": "2026-01-03T00:00:00Z"})
    shop.run()
    assert shop.check() != before
    with open_service_table(app, "orders", "restore", is_owner=False) as table:
        restore(table, saved.instant)
    assert shop.read() == before
    assert shop.status.lag_commits == 0


def test_type_that_iceberg_cannot_widen_waits_for_all_files(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark, mode="append", record_key=(), ordering=())
    shop.put("a", {"id": 1, "price": 20})
    shop.run()
    before = shop.check()
    shop.put("b", {"id": 2, "price": 20.5})
    shop.run()
    assert shop.lake.sql("select count(*) as n from orders").to_arrow().to_pylist() == [{"n": 2}]
    status = shop.status
    if status.error:
        assert "column price: the file has long, the table double" in status.error
        assert "headwater table orders cluster" in status.hint
        assert status.failing_since
        assert shop.read() == before
        shop.lake["orders"].cluster()
    assert len(shop.check()) == 2
    assert not shop.status.error


def test_failing_view_never_fails_a_commit(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark, mode="append", record_key=(), ordering=())
    shop.put("a", {"id": 1})
    shop.run()
    metadata = Path(shop.address) / "metadata"
    metadata.rename(tmp_path / "aside")
    metadata.write_text("no folder")
    shop.put("b", {"id": 2})
    shop.run()
    assert len(shop.lake.sql("select id from orders").to_arrow()) == 2
    views = IcebergViews(shop.lake.settings, lambda: parse_instant("20260101000000000"))
    assert not views.follow("orders")
    assert views.find_error("orders")
    metadata.unlink()
    (tmp_path / "aside").rename(metadata)
    assert shop.status.lag_commits == 1
    shop.run()
    assert len(shop.check()) == 2
