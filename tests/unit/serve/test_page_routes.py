"""The routes of the page: its settings, its products as cards, and which images it may load."""

import pytest

from headwater.config.search.answer import AnswerConfig
from headwater.config.search.page import PageConfig
from headwater.serve.schemas import MAX_LIMIT
from tests.fixtures.search.api import make_key, open_shop
from tests.fixtures.search.shop import AS_OF, ITEMS, Item, ShopSearcher

SWIM = {"query": "headphones for swimming"}
LOOK = PageConfig(link="brand", image="color", sort=("in_stock",), examples=("a mug, steel",))


def test_setup_has_what_is_configured():
    with open_shop(page=LOOK) as client:
        found = client.get("/page/setup").json()
    assert found == {
        # Addresses are nothing to filter by.
        "fields": {"category": "keyword", "price": "number", "in_stock": "bool"},
        "max_query_characters": 512,
        "operator": True,
        "examples": ["a mug, steel"],
        "sort": [{"column": "in_stock", "name": "in stock"}],
        "has_images": True,
    }


def test_setup_invents_nothing():
    with open_shop(keys=(make_key("shop", "good", "acme"),)) as client:
        found = client.get("/page/setup", headers={"X-API-Key": "good"}).json()
    assert (found["examples"], found["sort"], found["has_images"], found["operator"]) == (
        [],
        [],
        False,
        False,
    )


@pytest.mark.parametrize(("page", "images"), [(None, "'self'"), (LOOK, "'self' https:")])
def test_images_of_other_hosts_are_permitted_only_with_a_column(page, images):
    with open_shop(page=page) as client:
        policy = client.get("/").headers["Content-Security-Policy"]
    assert f"img-src {images};" in policy
    assert "default-src 'none'" in policy


def test_products_are_cards_and_the_api_returns_rows_unchanged():
    raw = "Mug\n<b>Great</b> &amp; cheap headphones for swimming."
    shop = ShopSearcher([Item("m1", "Mug", raw, {"price": 5, "brand": "<i>Acme</i>"})])
    with open_shop(shop, answer=AnswerConfig(currency="EUR")) as client:
        [card] = client.post("/page/search", json=SWIM).json()["cards"]
        [hit] = client.post("/search", json=SWIM).json()["hits"]
    assert (card["title"], card["text"]) == ("Mug", "Great & cheap headphones for swimming.")
    assert (card["price"], card["currency"]) == (5, "EUR")
    assert card["facts"] == [{"name": "brand", "value": "Acme"}]
    assert (hit["text"], hit["fields"]["brand"]) == (raw, "<i>Acme</i>")


def test_cards_are_as_many_as_the_api_returns_in_its_order_with_its_stamp():
    shop = ShopSearcher(
        [Item(f"h{n}", f"Set {n}", f"Set {n}. Headphones for swimming.") for n in range(MAX_LIMIT + 9)]
    )
    with open_shop(shop) as client:
        found = client.post("/page/search", json=SWIM).json()
        api = client.post("/search", json={**SWIM, "limit": MAX_LIMIT}).json()
    assert [card["id"] for card in found["cards"]] == [hit["id"] for hit in api["hits"]]
    assert len(found["cards"]) == MAX_LIMIT
    assert (found["as_of"], found["index_version"]) == (AS_OF, "v1")
    assert found["lag_seconds"] >= 0


def test_cards_meet_filters_and_bad_ones_are_rejected():
    with open_shop() as client:
        found = client.post("/page/search", json={**SWIM, "filters": {"brand": "Aquora"}}).json()
        wrong = client.post("/page/search", json={**SWIM, "filters": {"nope": 1}})
    assert {card["id"] for card in found["cards"]} == {"p1", "p4"}
    assert (wrong.status_code, wrong.json()["code"]) == (422, "filter_unknown_field")


def test_similar_products_are_cards():
    with open_shop() as client:
        found = client.get("/page/similar/p1").json()
        missing = client.get("/page/similar/none")
    assert {card["id"] for card in found["cards"]} == {"p2", "p3", "p4"}
    assert (missing.status_code, missing.json()["code"]) == (404, "product_not_found")


def test_cards_are_of_the_tenant_of_the_key():
    shop = ShopSearcher([*ITEMS, Item("a1", "Acme set", "Acme headphones for swimming.", {}, "acme")])
    headers = {"X-API-Key": "good"}
    with open_shop(shop, keys=(make_key("shop", "good", "acme"),)) as client:
        found = client.post("/page/search", json=SWIM, headers=headers).json()
        other = client.get("/page/similar/p1", headers=headers)
    assert [card["id"] for card in found["cards"]] == ["a1"]
    assert other.status_code == 404
