"""`forget` removes the chunks of the erased rows, also those of other configurations, and their points."""

from pathlib import Path

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.erasure.erasure import Erasure
from headwater.app.erasure.report import ErasureReport
from headwater.lake.erasure.subjects import SubjectHasher
from tests.fixtures.search.indexed_lake import IndexedLake, Row

pytestmark = pytest.mark.slow


def product(sku: str, title: str, seller: str) -> Row:
    return {"sku": sku, "title": title, "seller": seller}


def forget(lake: IndexedLake, spark: SparkSession, seller: str) -> ErasureReport:
    app = App(lake.files.settings, environ={}, spark=spark)
    hasher = SubjectHasher.of(app.register.ensure_secret(), ("seller",))
    subjects = frozenset({hasher.hash([seller])})
    return Erasure(app, "products", hasher, subjects, open_index=lambda _: lake.index).run()


def read_stored_texts(lake: IndexedLake) -> set[str]:
    folder = Path(lake.files.lake) / "_headwater/chunks"
    files = [path for path in folder.rglob("*.parquet") if ".hoodie" not in path.parts]
    assert files
    assert not list(folder.rglob("*.log.*"))
    return {text for path in files for text in parquet.ParquetFile(path).read()["text"].to_pylist() if text}


@pytest.mark.parametrize("table", [{"mode": "mirror"}, {"record_key": "sku", "partition": "seller"}])
def test_chunks_and_points_of_erased_rows_are_removed(
    spark: SparkSession, tmp_path: Path, table: dict[str, str]
) -> None:
    lake = IndexedLake(spark, tmp_path, {"path": "*.json", **table}, {"text": ["title"], "id": "sku"})
    rows = [product("a", "steel mug", "acme"), product("b", "red kettle", "bolt")]
    lake.put("a.json", rows)
    lake.follow()
    # Chunks of another configuration stay in the table, with their texts.
    lake.configure(text=["title", "seller"], id="sku")
    lake.put("b.json", [product("c", "blue kettle", "bolt")])
    lake.follow()
    lake.index.build()
    assert any("kettle" in text for text in read_all(lake))

    report = forget(lake, spark, "bolt")
    assert report.is_erased, report.structures
    assert {one.name for one in report.structures} >= {"products", "chunks"}
    assert set(lake.points()) == {"a"}
    assert not any("kettle" in text for text in read_stored_texts(lake))
    assert "index" in report.not_covered

    # No run is active during an erasure: the next one starts from what the tables say.
    lake.indexer = lake.restart()
    lake.put("b.json", [product("c", "blue kettle", "bolt"), product("d", "glass", "acme")])
    lake.follow()
    assert set(lake.points()) == {"a", "d"}
    assert forget(lake, spark, "bolt").is_erased
    assert set(lake.points()) == {"a", "d"}


def read_all(lake: IndexedLake) -> list[str]:
    return [text for texts in lake.texts().values() for text in texts]
