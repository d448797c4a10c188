"""Answers as of earlier commits of a real lake: prices, texts and rows of then."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession
from starlette.testclient import TestClient

from headwater.app.search.live import LiveSearch
from headwater.capture.position import parse_instant
from headwater.errors import AsOfUnavailableError, IndexUnavailableError
from headwater.rag.retrieval.query import FoundRow, SearchQuery, SearchResult
from headwater.rag.syncing.moments import Moment
from headwater.rag.syncing.past_chunks import PastChunks
from headwater.rag.vector_stores.protocol import IndexCondition
from tests.fixtures.search.api import make_key, open_shop
from tests.fixtures.search.indexed_lake import IndexedLake, Row

TABLE = {"path": "*.json", "mode": "mirror"}
SEARCH = {"text": ["title", "description"], "tenant": "seller", "id": "sku"}
BOLT = {"X-API-Key": "of bolt"}


def product(sku: str, title: str, price: float, seller: str) -> Row:
    texts = {"title": title, "description": f"{title} for all"}
    return {"sku": sku, **texts, "price": price, "seller": seller}


@dataclass
class Shop:
    """A lake that has changed three times, its live index, and the commits that it stood at."""

    lake: IndexedLake
    live: LiveSearch = field(init=False)
    stood_at: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.live = LiveSearch(self.lake.index, syncs=True)

    def follow(self) -> None:
        self.lake.ingest()
        self.lake.indexer.run()
        if not self.stood_at:
            self.live.open()
        self.live.refresh()
        self.stood_at.append(self.live.freshness().as_of)

    def search(self, text: str, **more: Any) -> SearchResult:
        return self.live.search(SearchQuery(text, **more))

    def find(self, text: str, **more: Any) -> dict[str, FoundRow]:
        return {row.row_key: row for row in self.search(text, **more).rows}


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    found = Shop(IndexedLake(spark, tmp_path_factory.mktemp("lake"), TABLE, SEARCH))
    found.lake.put("a.json", [product("a", "steel mug", 20, "acme")])
    found.lake.put("b.json", [product("b", "red kettle", 30, "bolt")])
    found.follow()
    found.lake.put("a.json", [product("a", "steel mug", 15, "acme")])
    found.follow()
    found.lake.put("a.json", [product("a", "glass carafe", 15, "acme")])
    found.follow()
    found.lake.remove("b.json")
    found.follow()
    assert sorted(set(found.stood_at)) == found.stood_at
    yield found
    found.live.close()


@pytest.fixture(scope="module")
def client(shop: Shop) -> Iterator[TestClient]:
    keys = (make_key("bolt", "of bolt", "bolt"), make_key("acme", "of acme", "acme"))
    with open_shop(shop.live, keys=keys) as found:
        yield found


def test_now_is_now(shop: Shop) -> None:
    found = shop.find("mug kettle carafe")
    assert set(found) == {"a"}
    assert found["a"].text.startswith("glass carafe")


def test_prices_texts_and_rows_are_those_of_then(shop: Shop) -> None:
    prices, titles, rows = [], [], []
    for then in shop.stood_at:
        found = shop.find("mug kettle carafe", as_of=then)
        prices.append(found["a"].fields["price"])
        titles.append(found["a"].text.splitlines()[0])
        rows.append(set(found))
    assert prices == [20, 15, 15, 15]
    assert titles == ["steel mug", "steel mug", "glass carafe", "glass carafe"]
    assert rows == [{"a", "b"}, {"a", "b"}, {"a", "b"}, {"a"}]


def test_conditions_are_of_the_values_of_then(shop: Shop) -> None:
    dear = [IndexCondition("price", "gt", 16)]
    assert [set(shop.find("mug", as_of=then, conditions=dear)) for then in shop.stood_at] == [
        {"a", "b"},
        {"b"},
        {"b"},
        set(),
    ]


def test_the_tenant_is_in_every_query_of_then(shop: Shop) -> None:
    for then in shop.stood_at[:3]:
        assert set(shop.find("mug kettle", as_of=then, tenant="bolt")) == {"b"}
        assert set(shop.find("mug kettle", as_of=then, tenant="acme")) == {"a"}
        assert not shop.find("mug kettle", as_of=then, tenant="nobody")


def test_answers_name_their_commit(shop: Shop) -> None:
    first, second, *_, newest = shop.stood_at
    between = f"{int(second) - 1}"
    for asked in (first, between):
        found = shop.search("mug", as_of=asked)
        assert (found.as_of, found.index_version) == (first, f"v0001@{first}")
        assert found.complete_at == parse_instant(first)
    now = shop.search("mug", as_of=newest)
    assert (now.as_of, now.index_version, now.complete_at) == (newest, "v0001", None)


def test_before_the_first_commit_and_in_the_future_there_is_no_answer(shop: Shop) -> None:
    first, *_, newest = shop.stood_at
    for asked in (f"{int(first) - 1}", f"{int(newest) + 1}"):
        with pytest.raises(AsOfUnavailableError, match=newest) as refused:
            shop.search("mug", as_of=asked)
        assert first in refused.value.message or asked > newest


def test_many_threads_get_the_answers_of_then(shop: Shop) -> None:
    # Three moments, of which two are kept.
    asked = [*shop.stood_at, *reversed(shop.stood_at)] * 6
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda then: shop.find("mug kettle", as_of=then), asked))
    for then, rows in zip(asked, found, strict=True):
        place = shop.stood_at.index(then)
        assert rows["a"].fields["price"] == (20, 15, 15, 15)[place]
        assert ("b" in rows) == (place < 3)


def test_loaded_states_answer_without_the_lake(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, _ = shop.stood_at
    shop.find("mug", as_of=second)
    shop.find("mug", as_of=first)
    loads: list[str] = []
    read = PastChunks.read

    def count(self: PastChunks, moment: Moment) -> Any:
        loads.append(moment.as_of)
        return read(self, moment)

    monkeypatch.setattr(PastChunks, "read", count)
    shop.find("mug", as_of=second)
    shop.find("mug", as_of=f"{int(second) - 1}")
    assert loads == []
    shop.find("mug", as_of=second)
    shop.find("mug", as_of=third)  # instead of the first, which was asked for longest ago
    shop.find("mug", as_of=second)
    assert loads == [third]
    shop.find("mug", as_of=first)
    assert loads == [third, first]


def test_one_state_loads_at_a_time_with_bounded_wait(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, _ = shop.stood_at
    live = LiveSearch(shop.lake.index, syncs=False)
    live.open()
    monkeypatch.setattr(live._history, "_wait_seconds", 0.05)
    reading, resume = threading.Event(), threading.Event()
    read = PastChunks.read

    def wait(self: PastChunks, moment: Moment) -> Any:
        reading.set()
        assert resume.wait(30)
        return read(self, moment)

    monkeypatch.setattr(PastChunks, "read", wait)
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(live.search, SearchQuery("mug", as_of=first))
        assert reading.wait(30)
        for then in (first, third):
            with pytest.raises(IndexUnavailableError, match="being loaded"):
                live.search(SearchQuery("mug", as_of=then))
        assert live.search(SearchQuery("carafe")).rows  # now is not held up
        resume.set()
        assert loading.result(30).as_of == first
    assert live.search(SearchQuery("mug", as_of=first)).as_of == first
    assert live.search(SearchQuery("mug", as_of=second)).as_of == second


def test_rows_of_another_choice_of_tenants_answer_nothing(shop: Shop) -> None:
    settings, indexer, index = shop.lake.files.settings, shop.lake.indexer, shop.lake.index
    try:
        shop.lake.configure(**{**SEARCH, "tenant": "title"})
        live = LiveSearch(shop.lake.index, syncs=False)
        live.open()
        with pytest.raises(AsOfUnavailableError):
            live.search(SearchQuery("mug", as_of=shop.stood_at[0], tenant="acme"))
    finally:
        shop.lake.files.settings, shop.lake.indexer, shop.lake.index = settings, indexer, index


def test_the_api_answers_as_of_then(shop: Shop, client: TestClient) -> None:
    first, *_, newest = shop.stood_at
    body = {"query": "red kettle", "as_of": first}
    found = client.post("/search", json=body, headers=BOLT).json()
    assert [hit["id"] for hit in found["hits"]] == ["b"]
    assert (found["as_of"], found["index_version"]) == (first, f"v0001@{first}")
    age = (datetime.now(timezone.utc) - parse_instant(first)).total_seconds()
    assert age - 30 < found["lag_seconds"] <= age
    assert client.post("/search", json={"query": "red kettle"}, headers=BOLT).json()["hits"] == []
    answer = client.post("/recommend", json={**body, "query": "kettle under 40"}, headers=BOLT).json()
    assert [(one["id"], one["fields"]["price"]) for one in answer["products"]] == [("b", 30)]
    assert (answer["as_of"], answer["success"]) == (first, True)
    refused = client.post("/search", json={**body, "as_of": f"{int(first) - 1}"}, headers=BOLT)
    assert (refused.status_code, refused.json()["code"]) == (422, "as_of_unavailable")
    assert first in refused.json()["detail"]
    assert newest in refused.json()["detail"]
