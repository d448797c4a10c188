"""The readers of docs/reference/compatibility.md that are said to be run, on updated and removed rows."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hudi import HudiTableBuilder
from pyspark.sql import SparkSession

import headwater as hw

pytestmark = pytest.mark.slow
PAGE = (Path(__file__).parents[4] / "docs/reference/compatibility.md").read_text("utf-8")
OLD = {"hoodie": {"hoodie.write.table.version": 6}}
TABLES: dict[str, dict[str, Any]] = {
    "copied": {},
    "merged": {"table_type": "merge_on_read"},
    "old_copied": OLD,
    "old_merged": {"table_type": "merge_on_read", **OLD},
}
ROWS = [(1, 0.5, ["a", None]), (2, 9.0, []), (4, 2.0, None)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readers")


@pytest.fixture(scope="module")
def lake(folder: Path, spark: SparkSession) -> Iterator[hw.Lake]:
    landing = folder / "landing"
    landing.mkdir()
    shared = {"path": "*.json", "mode": "mirror"}
    with hw.Lake(
        source={"type": "local", "path": str(landing)},
        lake=str(folder / "lake"),
        tables={name: {**shared, **settings} for name, settings in TABLES.items()},
        spark=spark,
    ) as found:
        commits: list[dict[str, list[Any] | None]] = [
            {"a": [(1, 0.5, ["a", None]), (2, 1.0, [])], "b": [(3, 1.5, ["c"])]},
            {"a": [(1, 0.5, ["a", None]), (2, 9.0, [])], "c": [(4, 2.0, None)], "b": None},
        ]
        for commit in commits:
            for name, rows in commit.items():
                path = landing / f"{name}.json"
                if rows is None:
                    path.unlink()
                    continue
                fields = [
                    {"id": i, "price": p, "tags": t, "updated_at": "2026-11-28T12:00:00Z"} for i, p, t in rows
                ]
                path.write_text("".join(f"{json.dumps(one)}\n" for one in fields))
            found.run(progress=False)
        yield found


def to_rows(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((row["id"], row["price"], row["tags"]) for row in found)


def read_by_hudi_rs(path: str) -> list[dict[str, Any]]:
    batches = HudiTableBuilder.from_base_uri(path).build().read()
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("name", TABLES)
def test_all_readers_see_the_same_rows(lake: hw.Lake, folder: Path, spark: SparkSession, name: str) -> None:
    table = lake[name]
    path = f"{folder}/lake/{name}"
    arrow = table.to_arrow()
    properties = (Path(path) / ".hoodie/hoodie.properties").read_text()
    assert f"hoodie.table.version={6 if 'old' in name else 9}\n" in properties
    found = {
        "Spark": [row.asDict() for row in spark.read.format("hudi").load(path).collect()],
        "hudi-rs": read_by_hudi_rs(path),
        "PyArrow": arrow.to_pylist(),
        "Polars": table.to_polars().to_dicts(),
        "pandas": json.loads(table.to_pandas().to_json(orient="records")),
        "headwater sql": lake.sql(f"select id, price, tags from {name}").to_arrow().to_pylist(),
        "DuckDB": duckdb.from_arrow(arrow).project("id, price, tags").to_arrow_table().to_pylist(),
    }
    assert {reader: to_rows(rows) for reader, rows in found.items()} == dict.fromkeys(found, sorted(ROWS))
    assert all(reader in PAGE for reader in found)


@pytest.mark.usefixtures("lake")
def test_parquet_files_alone_are_not_the_table(folder: Path) -> None:
    ((count,),) = duckdb.read_parquet(f"{folder}/lake/copied/*.parquet").aggregate("count(*)").fetchall()
    assert count > len(ROWS)


def test_example_of_duckdb_runs(lake: hw.Lake, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    renamed = example.replace('lake["orders"]', 'lake["merged"]')

    class Opened:
        def __enter__(self) -> hw.Lake:
            return lake

        def __exit__(self, *_: object) -> None:
            """The fixture closes it."""

    monkeypatch.setattr(hw, "open", lambda _file: Opened())
    exec(compile(renamed, "compatibility.md", "exec"), {})
    assert "│            3 │" in capsys.readouterr().out
