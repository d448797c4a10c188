"""The live index of a real lake: answers follow the table before its chunks do, and outlive trouble."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.pipeline_state import read_pipeline_state
from headwater.app.search.live import LiveSearch
from headwater.errors import HeadwaterError, IndexNotFoundError, IndexUnavailableError
from headwater.rag.retrieval.query import SearchQuery
from headwater.rag.searcher import Freshness
from headwater.rag.vector_stores.protocol import IndexCondition
from tests.fixtures.search.indexed_lake import IndexedLake, Row

TABLE = {"path": "*.json", "record_key": "sku", "ordering": "at"}
SEARCH = {"text": ["title", "description"], "tenant": "seller"}


def product(sku: str, title: str, price: float = 1.0, at: int = 1, seller: str = "acme") -> Row:
    texts = {"title": title, "description": f"{title} for all"}
    return {"sku": sku, **texts, "price": price, "at": at, "seller": seller}


@dataclass
class Shop:
    """A lake, its live index, and a clock that can be put ahead."""

    lake: IndexedLake
    ahead: timedelta = timedelta(0)
    live: LiveSearch = field(init=False)

    def __post_init__(self) -> None:
        self.live = LiveSearch(self.lake.index, syncs=True, now=self.read_clock)

    def read_clock(self) -> datetime:
        return datetime.now(timezone.utc) + self.ahead

    def find(self, text: str, **more: Any) -> list[str]:
        return [row.row_key for row in self.live.search(SearchQuery(text, **more)).rows]

    def lag(self) -> float:
        known = self.live.freshness().lag_seconds(self.read_clock())
        assert known is not None
        return known


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """With `a` of acme and `b` of bolt in it; tests add to it, in their order."""
    found = Shop(IndexedLake(spark, tmp_path_factory.mktemp("lake"), TABLE, SEARCH))
    with pytest.raises(IndexNotFoundError):
        found.live.open()
    found.lake.put("1.json", [product("a", "steel mug", 20), product("b", "red kettle", 30, seller="bolt")])
    found.lake.ingest()
    found.lake.indexer.run()
    # A server answers probes while it builds the first version.
    assert found.live.open(builds=False).index_version == ""
    found.live.learn_words()
    with pytest.raises(IndexUnavailableError, match="being built"):
        found.find("steel mug")
    found.live.refresh()
    known: Freshness = found.live.freshness()
    assert (known.points, known.index_version) == (2, "v0001")
    yield found
    found.live.close()


def test_the_tenant_is_in_every_query(shop: Shop) -> None:
    assert shop.find("steel mug")[0] == "a"
    assert shop.find("red kettle", tenant="acme") == ["a"]
    assert shop.live.similar("b", 5, "acme") is None
    similar = shop.live.similar("b", 5)
    assert similar is not None
    assert [row.row_key for row in similar.rows] == ["a"]
    assert shop.live.filterable()["price"] == "number"
    assert "tenant" not in shop.live.filterable()


def test_answers_follow_the_table(shop: Shop) -> None:
    before = shop.live.freshness()
    assert shop.lag() < 60
    shop.lake.put("2.json", [product("a", "steel mug", 15, at=2), product("c", "blue kettle")])
    shop.lake.ingest()
    shop.ahead += timedelta(seconds=100)
    assert shop.lag() >= 100
    shop.live.refresh()
    # The table has it, the chunks have not.
    assert shop.live.freshness().as_of > before.as_of
    assert shop.lag() < 60
    assert set(shop.find("kettle")) >= {"b", "c"}
    shop.lake.indexer.run()
    shop.live.refresh()
    fresh = shop.live.freshness()
    assert shop.lag() < 60
    assert set(shop.find("kettle")) >= {"b", "c"}
    assert shop.find("mug", conditions=[IndexCondition("price", "lt", 16)])[0] == "a"
    assert shop.find("mug", as_of=fresh.as_of)[0] == "a"
    assert shop.find("mug", as_of=before.as_of, conditions=[IndexCondition("price", "lt", 16)]) == []
    assert "c" not in shop.find("kettle", as_of=before.as_of)


def test_page_has_rows_and_commits(shop: Shop) -> None:
    state = read_pipeline_state(shop.lake.files.settings)
    assert state["tables"]["products"]["rows"] >= 2
    assert state["last_commits"][0]["table"] == "products"


def test_answers_outlive_the_lake_and_say_how_old_they_are(shop: Shop, tmp_path: Path) -> None:
    folder = Path(shop.lake.files.settings.lake)
    folder.rename(tmp_path / "moved")
    shop.ahead += timedelta(seconds=100)
    with pytest.raises(HeadwaterError):
        shop.live.refresh()
    assert shop.find("steel mug")[0] == "a"
    assert shop.live.freshness().error
    assert shop.lag() >= 100
    (tmp_path / "moved").rename(folder)
    shop.live.refresh()
    assert shop.live.freshness().error == ""
    assert shop.lag() < 60


def test_lost_points_are_repaired_in_time(shop: Shop) -> None:
    shop.lake.live.delete([point.chunk_id for point in shop.lake.live.load(["a"])])
    shop.live.refresh()
    assert "a" not in shop.find("steel mug")
    shop.ahead += timedelta(seconds=2_000)
    shop.live.refresh()
    assert "a" in shop.find("steel mug")
