"""What stands beside tables that are built from tables: search, objects, services, folders of others."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.duty import list_served
from headwater.app.objects.explain import Explain
from headwater.app.objects.routing import Routing
from headwater.app.search import SearchIndex, build_indexer
from headwater.app.services.worker import ServicesWorker
from headwater.config.settings import Settings
from headwater.errors import TableMismatchError, UsageError
from headwater.rag.vector_stores.memory import MemoryVectorStore
from tests.fixtures.medallion.medallion_lake import MedallionLake, Row

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

PRODUCTS = {"path": "*.json", "mode": "mirror"}
TITLES = {
    "from": "products",
    "transform": [{"sql": "select _headwater_source, id, upper(title) as title from input where sold"}],
}


def product(number: int, title: str, *, sold: bool = True) -> Row:
    return {"id": number, "title": title, "sold": sold}


def configure(lake: MedallionLake, **more: Any) -> None:
    """Further sections, as after a restart."""
    plain = lake.settings.model_dump(by_alias=True, exclude_unset=True)
    lake.settings = Settings.model_validate({**plain, **more})


@pytest.mark.parametrize("record_key", [[], ["id"]])
def test_a_search_follows_a_derived_table(spark: SparkSession, tmp_path: Path, record_key: list[str]) -> None:
    lake = MedallionLake(spark, tmp_path, products=PRODUCTS, titles=TITLES | {"record_key": record_key})
    search = {"table": "titles", "text": ["title"], "store": {"type": "memory"}}
    configure(lake, search=search | {"embedder": {"type": "hashing", "dimensions": 64}})
    store = MemoryVectorStore()

    def follow() -> set[str]:
        lake.flow()
        build_indexer(App(lake.settings, spark=spark)).run()
        index = SearchIndex(lake.settings, environ={}, store=store)
        index.sync()
        found = index.versions.open_live()
        assert found is not None
        states = list(found[1].iter_states())
        return {point.text for point in found[1].load(sorted({state.row_key for state in states}))}

    lake.put_rows("1.json", [product(1, "mug"), product(2, "kettle"), product(3, "pan", sold=False)])
    assert follow() == {"MUG", "KETTLE"}
    # One is renamed, one is not sold any more, one is at last; then all of it goes.
    lake.put_rows("1.json", [product(1, "cup"), product(2, "kettle", sold=False), product(3, "pan")])
    assert follow() == {"CUP", "PAN"}
    lake.put_rows("2.json", [product(4, "pot")])
    lake.remove("1.json")
    assert follow() == {"POT"}


def test_object_commands_exclude_derived_tables(spark: SparkSession, tmp_path: Path) -> None:
    lake = MedallionLake(spark, tmp_path, titles=TITLES, products=PRODUCTS)
    lake.put_rows("1.json", [product(1, "mug")])
    lake.flow()
    lake.put("other.csv", "1")
    app = App(lake.settings, spark=spark)
    found = Explain(app).explain("1.json")
    assert (found.status, list(found.tables)) == ("ingested", ["products"])
    assert [(made.table, made.rows) for made in found.decisions] == [("products", 1)]
    report = Routing(app).read()
    assert (report.keys, report.unclaimed, list(report.tables)) == (2, 1, ["products"])
    # Other rules load and retract in the one, and the other follows.
    lake.change("products", path="2.json")
    Routing(App(lake.settings, spark=spark)).apply(yes=True)
    assert lake.rows("products", "id") == []
    lake.follow("titles")
    assert lake.rows("titles", "id") == []
    with pytest.raises(UsageError, match="is built from table 'products'"):
        Routing(app).replay("titles", datetime(2026, 1, 1, tzinfo=timezone.utc))


@pytest.mark.parametrize("services", ["semi_async", "async"])
def test_services_maintain_derived_tables(spark: SparkSession, tmp_path: Path, services: str) -> None:
    left = {"table_type": "merge_on_read", "services": services, "compact_after": 2, "keep_commits": 2}
    lake = MedallionLake(spark, tmp_path, products=PRODUCTS, titles=TITLES | {"record_key": "id"})
    configure(lake, lock={"provider": "file_system"})
    lake.change("titles", **left)
    for number in range(4):
        lake.put_rows("1.json", [product(1, f"mug {number}"), product(2, "kettle", sold=number % 2 == 0)])
        lake.flow()
    app = App(lake.settings, spark=spark)
    assert list_served(lake.settings, ()) == ["titles"]
    report = ServicesWorker(app, ["titles"]).run_pass()
    assert report.failures == {}
    assert [len(done.compacted.instants) for done in report.done] == [1]
    assert lake.rows("titles", "id", "title") == [(1, "MUG 3")]
    # What services commit does not hide how far the table has followed.
    assert lake.follow("titles") is None
    lake.remove("1.json")
    lake.flow()
    assert lake.rows("titles", "id") == []


def test_objects_are_not_put_into_the_folder_of_a_derived_table(spark: SparkSession, tmp_path: Path) -> None:
    lake = MedallionLake(spark, tmp_path, products=PRODUCTS, titles=TITLES | {"record_key": "id"})
    lake.put_rows("1.json", [product(1, "mug")])
    lake.flow()
    titles = {"path": "*.json", "record_key": "id"}
    plain = lake.settings.model_dump(by_alias=True, exclude_unset=True)
    lake.settings = Settings.model_validate({**plain, "tables": {"products": PRODUCTS, "titles": titles}})
    with pytest.raises(
        TableMismatchError, match="table titles: the existing table was built from another table"
    ):
        lake.ingest("titles")
    assert lake.rows("titles", "id", "title") == [(1, "MUG")]
