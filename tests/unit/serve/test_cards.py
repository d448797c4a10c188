"""Cards: what a visitor reads of a row, and which addresses the page opens."""

import pytest

from headwater.config.search.page import PageConfig
from headwater.rag.retrieval.query import FoundRow
from headwater.serve.cards import CardRules, Fact, check_image, check_link

FIELDS = {
    "brand": "Aquora &amp; Co",
    "price": 49.9,
    "old_price": 60.0,
    "in_stock": True,
    "weight_g": 30,
    "url": "https://shop.example/p1",
    "images": ["https://cdn.example/1.jpg", "https://cdn.example/2.jpg"],
    "tags": ["sport", "<i>sea</i>"],
    "essay": "long " * 20,
}


def build(fields=FIELDS, text="Swim<b>Pro</b>\n<p>For laps.</p>", currency=None, titles=(), **page):
    row = FoundRow("p1", 1, 0.5, text, fields, "", ("laps",))
    return CardRules(PageConfig.model_validate(page), titles, currency).build_card(row, "p1")


def test_texts_are_plain_and_the_title_is_not_repeated():
    card = build()
    assert (card.title, card.text, card.matched_terms) == ("SwimPro", "For laps.", ("laps",))
    assert card.fields["brand"] == "Aquora &amp; Co"


@pytest.mark.parametrize(
    ("fields", "titles", "title"),
    [
        ({"name": "Mug &amp; lid"}, (), "Mug & lid"),
        ({"title": " ", "name": "Mug"}, (), "Mug"),
        ({"label": "Cup", "name": "Mug"}, ("label",), "Cup"),
        ({"label": 7}, ("label",), "SwimPro"),
        ({"name": "<b></b>"}, (), "p1"),
    ],
)
def test_the_title_is_the_first_that_there_is(fields, titles, title):
    assert build(fields, titles=titles).title == title


def test_a_text_is_shortened_only_by_a_whole_title():
    assert build({"name": "Mug"}, text="Mugs for all").text == "Mugs for all"
    assert build({"name": "Mug"}, text="Mug. For all").text == "For all"
    assert build({"name": "Mug"}, text="Mug").text == ""


@pytest.mark.parametrize(
    ("fields", "page", "price", "currency"),
    [
        ({"price": 49.9}, {}, 49.9, "EUR"),
        ({"price": 49.9, "currency": "USD"}, {}, 49.9, "USD"),
        ({"price": 49.9, "currency": "dollars"}, {}, 49.9, "EUR"),
        ({"rate": 5, "price": 49.9}, {"price": "rate"}, 5.0, "EUR"),
        ({"price": "49.90"}, {"price": "price"}, 49.9, "EUR"),
        ({"price": "on request"}, {"price": "price"}, None, None),
        ({"price": True}, {"price": "price"}, None, None),
        ({"price": 49.9}, {"price": "rate"}, None, None),
        ({"brand": "x"}, {}, None, None),
    ],
)
def test_the_price_has_a_currency(fields, page, price, currency):
    card = build(fields, currency="EUR", **page)
    assert (card.price, card.currency) == (price, currency)


def test_facts_are_short_fields_by_default():
    assert build(link="url", image="images").facts == [
        Fact("brand", "Aquora & Co"),
        Fact("in stock", True),
        Fact("weight g", 30),
        Fact("tags", "sport, sea"),
    ]
    # An address is no fact, even if it is not the link.
    assert [fact.name for fact in build().facts] == ["brand", "in stock", "weight g", "tags"]
    assert len(build({f"f{n}": n for n in range(20)}).facts) == 6


def test_facts_are_the_configured_ones_in_their_order():
    card = build(facts=["weight_g", "brand", "missing", "old_price"])
    assert card.facts == [Fact("weight g", 30), Fact("brand", "Aquora & Co"), Fact("old price", 60.0)]
    assert build(facts=[]).facts == []


def test_links_and_images_come_from_their_columns():
    card = build(link="url", image="images")
    assert (card.link, card.image) == ("https://shop.example/p1", "https://cdn.example/1.jpg")
    assert (build().link, build().image) == (None, None)
    assert build(link="in_stock", image="missing").link is None


GOOD = (
    "https://shop.example/p1?a=1&b=2#c",
    "http://localhost:8000/p1",
    "HTTPS://shop.example",
    "/products/p1",
    "/",
    "https://münchen.example/größe",
    "https://[::1]/p1",
)
BAD = (
    "",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\nscript:alert(1)",
    "\x01javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://shop.example/1",
    "//evil.example/p1",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "https:evil.example",
    "https:///evil.example",
    "https://",
    "https://shop.example@evil.example/",
    "https://user:word@evil.example/",
    "https://shop.example/a b",
    "https://shop.example/\u202egpj.exe",
    "https://[::1",
    "products/p1",
    "shop.example/p1",
    "mailto:a@shop.example",
    "https://shop.example/" + "a" * 2_048,
)


@pytest.mark.parametrize("address", GOOD)
def test_web_addresses_and_paths_pass(address):
    assert check_link(f" {address} ") == address


@pytest.mark.parametrize("address", BAD)
def test_other_addresses_are_not_shown(address):
    assert check_link(address) is None
    assert check_image(address) is None


def test_images_come_from_https_or_this_site():
    assert check_image("https://cdn.example/1.jpg") == "https://cdn.example/1.jpg"
    assert check_image("/images/1.jpg") == "/images/1.jpg"
    assert check_image("HTTP://cdn.example/1.jpg") is None
