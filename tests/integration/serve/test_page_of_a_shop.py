"""The page as a shop configures it: products with links and images, orders, examples, and its address."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from headwater.config.search.answer import AnswerConfig
from headwater.config.search.page import PageConfig
from headwater.errors import IndexUnavailableError
from headwater.rag.language_models.scripted import ScriptedLanguageModel
from headwater.rag.retrieval.query import SearchQuery, SearchResult
from tests.fixtures.search.api import build_shop_api, run_server
from tests.fixtures.search.browser import CONTRAST, Browser
from tests.fixtures.search.shop import ITEMS, Item, ShopSearcher

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_complaints")]

ANSWERED = (
    "!document.getElementById('answer-mode').hidden && "
    "!document.getElementById('ask-button').hasAttribute('aria-busy')"
)
SETTLED = (
    "!document.getElementById('announce').textContent.startsWith('Searching') && "
    "document.getElementById('announce').textContent !== ''"
)
IDS = "[...document.querySelectorAll('.card')].map((card) => card.dataset.id)"
PRICES = "[...document.querySelectorAll('.price')].map((price) => price.textContent)"
LOOK = PageConfig(
    title="title",
    price="price",
    link="url",
    image="picture",
    facts=("brand", "released", "in_stock"),
    sort=("released",),
    examples=("headphones for swimming", "a mug, steel"),
)
LONG = "<p><b>Great</b> &amp; cheap headphones.</p>" + "They stay in place while you swim. " * 30
SHOP = [
    Item(
        f"s{n:02}",
        f"Set {n}",
        LONG if n == 1 else f"Set {n}. Headphones for swimming, number {n}.",
        {
            "brand": "Aquora" if n % 2 else "Delfin",
            "price": 100.5 - n,
            "released": f"2026-01-{n:02}",
            "in_stock": True,
            "url": "javascript:alert(1)" if n == 2 else f"/products/s{n:02}",
            "picture": {3: "", 5: "http://evil.example/x.png"}.get(n, "/assets/icon.svg"),
        },
    )
    for n in range(1, 28)
]
HOSTILE = Item(
    "evil",
    "<script>alert(1)</script>Set " + "o" * 90,
    "<img src=x onerror=alert(1)> Headphones " + "W" * 300,
    {"brand": '"><svg onload=alert(1)>' + "B" * 70, "url": "//evil.example", "picture": "data:image/png;,"},
)


@pytest.fixture(scope="module")
def address(browser: Browser) -> Iterator[str]:
    api = build_shop_api(
        ShopSearcher([*SHOP, HOSTILE]),
        model=ScriptedLanguageModel(),
        page=LOOK,
        answer=AnswerConfig(currency="EUR"),
    )
    with run_server(api) as found:
        yield found


def ask(browser, address, query="headphones+for+swimming", **options):
    browser.open(f"{address}/?q={query}", **options)
    browser.wait(ANSWERED)


def choose(browser, order):
    browser.run(
        f"{{ const sort = document.getElementById('sort'); sort.value = '{order}';"
        "sort.dispatchEvent(new Event('change', {bubbles: true})) }"
    )


def click(browser, selector):
    browser.run(f"document.querySelector({selector!r}).click()")


def show_all(browser):
    while not browser.run("document.getElementById('more').hidden"):
        click(browser, "#more")


def read(browser, item, what):
    return browser.run(f"document.querySelector('.card[data-id={item}] {what}")


def test_a_product_has_its_price_link_image_and_facts(browser, address):
    ask(browser, address)
    show_all(browser)
    assert read(browser, "s01", ".price').textContent") == "€99.50"
    link = "h3 a').getAttributeNames().map((name) => name + '=' + "
    attributes = read(browser, "s01", f"{link}document.querySelector('.card[data-id=s01] h3 a')[name])")
    assert f"href={address}/products/s01" in attributes
    assert "rel=noopener noreferrer nofollow" in attributes
    image = read(browser, "s01", "img').outerHTML")
    for wanted in (
        'loading="lazy"',
        'referrerpolicy="no-referrer"',
        'alt=""',
        'width="400"',
        'src="/assets/icon.svg"',
    ):
        assert wanted in image
    facts = read(browser, "s01", ".chips').innerText")
    assert "Aquora" in facts
    assert "released: Jan 1, 2026" in facts
    assert "in stock: yes" in facts


def test_other_addresses_are_not_rendered(browser, address):
    ask(browser, address)
    show_all(browser)
    assert read(browser, "s02", "a') === null")
    for item in ("s03", "s05", "evil"):
        assert read(browser, item, "img') === null"), item
    assert read(browser, "evil", "a') === null")
    links = browser.run("[...document.links].map((link) => link.protocol + '//' + link.host)")
    assert {link for link in links if link != address} == set()


def test_images_that_fail_or_are_missing_move_nothing(browser):
    missing = Item("m1", "Mug", "Mug. Steel.", {"picture": "/assets/none.png"})
    with run_server(build_shop_api(ShopSearcher([*SHOP[:5], missing]), page=LOOK)) as address:
        ask(browser, address)
        browser.wait("document.querySelector('.card[data-id=m1] img') === null")
        heights = browser.run(
            "[...document.querySelectorAll('.picture')].map((box) => Math.round(box.offsetHeight))"
        )
    assert len(heights) == 6
    # Widths are no whole pixels.
    assert max(heights) - min(heights) <= 1
    assert heights[0] > 100
    browser.problems[:] = [text for text in browser.problems if "404" not in text]


def test_texts_are_plain_and_of_a_few_lines_until_opened_by_keyboard(browser, address):
    ask(browser, address)
    show_all(browser)
    text = read(browser, "s01", ".matched').textContent")
    assert text.startswith("Great & cheap headphones.\nThey stay")
    closed = read(browser, "s01", ".matched').clientHeight")
    assert read(browser, "s01", ".more').hidden") is False
    assert read(browser, "s07", ".more').hidden") is True
    read(browser, "s01", ".more').focus()")
    browser.press("Enter")
    assert read(browser, "s01", ".more').getAttribute('aria-expanded')") == "true"
    assert read(browser, "s01", ".more').innerText").startswith("Show less")
    assert read(browser, "s01", ".matched').clientHeight") > closed * 2
    browser.press("Enter")
    assert read(browser, "s01", ".matched').clientHeight") == closed
    assert ("button", "Show more of Set 1") in browser.list_roles()


def test_more_results_follow_and_get_the_focus(browser, address):
    ask(browser, address)
    first = browser.run(IDS)
    assert browser.run("document.getElementById('results-count').textContent") == "12 of the 28 best matches"
    browser.run("document.getElementById('more').focus()")
    browser.press("Enter")
    more = browser.run(IDS)
    assert (len(more), more[:12]) == (24, first)
    focused = "document.activeElement.closest('.card').dataset.id"
    assert browser.run(focused) == more[12]
    browser.run("document.getElementById('more').focus()")
    browser.press("Enter")
    assert browser.run("document.getElementById('results-count').textContent") == "28 best matches"
    assert browser.run("document.getElementById('more').hidden") is True


def test_an_order_sorts_the_products_listed_and_says_so(browser, address):
    ask(browser, address)
    relevant = browser.run(IDS)
    orders = browser.run("[...document.getElementById('sort').options].map((option) => option.text)")
    assert orders == [
        "Relevance",
        "Price, lowest first",
        "Price, highest first",
        "Released, oldest first",
        "Released, newest first",
    ]
    browser.run("document.getElementById('sort').focus()")
    browser.press("ArrowDown")
    prices = [float(text.strip("€")) for text in browser.run(PRICES)]
    assert prices == sorted(prices)
    assert set(browser.run(IDS)) == set(relevant)
    assert browser.run("document.getElementById('sort-note').innerText") == "Sorts the 12 products listed."
    choose(browser, "field.released.desc")
    listed = [name for name in browser.run(IDS) if name != "evil"]
    assert listed == sorted(listed, reverse=True)
    choose(browser, "")
    assert browser.run(IDS) == relevant


def test_products_without_a_value_are_last_in_both_directions(browser, address):
    ask(browser, address)
    show_all(browser)
    for order in ("price.asc", "price.desc"):
        choose(browser, order)
        assert browser.run(IDS)[-1] == "evil", order
    assert browser.run("document.getElementById('sort-note').hidden") is True


def test_examples_are_asked_with_a_click(browser, address):
    browser.open(address)
    browser.wait("!document.getElementById('examples-line').hidden")
    chips = browser.run("[...document.querySelectorAll('.example')].map((chip) => chip.textContent)")
    assert chips == list(LOOK.examples)
    assert browser.run("document.getElementById('query').placeholder") == chips[0]
    click(browser, ".example")
    browser.wait(ANSWERED)
    assert browser.run("document.getElementById('query').value") == chips[0]
    assert browser.run("document.getElementById('welcome').hidden") is True


def test_query_filters_and_order_survive_a_reload_and_the_way_back(browser, address):
    ask(browser, address)
    browser.run(
        "const brand = document.querySelector('[data-field=brand]'); brand.value = 'Aquora';"
        "brand.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    browser.wait(
        f"{ANSWERED} && document.getElementById('results-count').textContent === '12 of the 14 best matches'"
    )
    choose(browser, "price.asc")
    found = browser.run(IDS)
    browser.reload()
    browser.wait(ANSWERED)
    assert browser.run(IDS) == found
    assert browser.run("document.querySelector('[data-field=brand]').value") == "Aquora"
    assert browser.run("document.getElementById('filters').open") is True
    browser.run("history.go(-2)")
    browser.wait(f"{ANSWERED} && !location.search.includes('brand')")
    browser.wait("document.getElementById('results-count').textContent === '12 of the 28 best matches'")
    assert browser.run("document.querySelector('[data-field=brand]').value") == ""
    assert browser.run("document.getElementById('sort').value") == ""
    browser.run("history.forward()")
    browser.wait("document.querySelector('[data-field=brand]').value === 'Aquora'")


def test_the_link_to_the_search_keeps_what_was_typed(browser, address):
    ask(browser, address)
    browser.run("document.getElementById('query').value = 'other words'")
    click(browser, ".skip")
    browser.wait("location.hash === '#query'")
    browser.run("new Promise((done) => setTimeout(done, 100))")
    assert browser.run("document.getElementById('query').value") == "other words"


def test_similar_products_have_an_address_and_a_way_back(browser, address):
    ask(browser, address)
    click(browser, ".card .card-foot button")
    browser.wait("document.getElementById('results-title').textContent.startsWith('Products like Set')")
    title = browser.run("document.getElementById('results-title').textContent")
    browser.reload()
    browser.wait("document.getElementById('results-title').textContent.startsWith('Products like')")
    assert browser.run("document.getElementById('results-title').textContent") == title
    browser.run("history.back()")
    browser.wait(f"{ANSWERED} && document.getElementById('results-title').textContent === 'All results'")


def test_the_age_grows_while_the_page_is_open(browser):
    shop = ShopSearcher()
    shop.known = replace(shop.known, complete_at=datetime.now(timezone.utc))
    with run_server(build_shop_api(shop)) as address:
        ask(browser, address)
        for name in ("fresh", "results"):
            browser.wait(f"/^Updated [1-9] s ago$/.test(document.getElementById('{name}-text').textContent)")
            first = browser.run(f"document.getElementById('{name}-text').textContent")
            browser.wait(f"document.getElementById('{name}-text').textContent !== {first!r}")
        assert "Newest commit" in browser.run("document.getElementById('fresh').title")
        click(browser, ".stamp summary")
        details = browser.run("document.getElementById('stamp-details').innerText")
    assert all(word in details for word in ("Newest commit", "Index", "v1", "Search", "ms"))


def test_a_page_without_a_section_invents_nothing(browser):
    with run_server(build_shop_api(ShopSearcher([*ITEMS]))) as address:
        browser.open(address)
        browser.wait("!document.getElementById('filters').hidden")
        assert browser.run("document.getElementById('examples-line').hidden") is True
        assert browser.run("document.getElementById('query').placeholder") == ""
        ask(browser, address)
        assert browser.run("document.querySelectorAll('.picture, .card a').length") == 0
        assert "49.90" in browser.run(PRICES)


def test_nothing_found_says_what_to_do(browser, address):
    browser.open(f"{address}/?q=headphones&in.brand=Nobody")
    browser.wait("!document.getElementById('empty').hidden")
    assert (
        browser.run("document.getElementById('empty-text').innerText") == "Try other words, or fewer filters."
    )
    assert browser.run("document.getElementById('results').hidden") is True
    click(browser, "#empty-choices button")
    browser.wait(ANSWERED)
    assert browser.run("document.getElementById('empty').hidden") is True
    assert "brand" not in browser.run("location.search")


def test_the_nearest_products_are_shown_on_request_only(browser):
    shop = ShopSearcher([*ITEMS])
    shop.unmatched = ("insurance",)
    with run_server(build_shop_api(shop)) as address:
        browser.open(f"{address}/?q=car+insurance")
        browser.wait(f"!document.getElementById('empty').hidden && {SETTLED}")
        assert "insurance" in browser.run("document.getElementById('answer-text').innerText")
        assert "Try other words" in browser.run("document.getElementById('announce').textContent")
        assert browser.run(f"{IDS}.length") == 0
        click(browser, "#empty-choices button")
        assert browser.run(f"{IDS}.length") == 4
        assert browser.focused() == "results-title"
        assert browser.run("document.getElementById('results-title').textContent") == "Nearest products"


class _AnswerlessShop(ShopSearcher):
    """Answers are asked with fewer rows than the list of products, and fail."""

    def search(self, query: SearchQuery) -> SearchResult:
        if query.limit < 50:
            raise IndexUnavailableError("the index is away")
        return super().search(query)


def test_products_are_listed_without_an_answer(browser):
    with run_server(build_shop_api(_AnswerlessShop())) as address:
        browser.open(f"{address}/?q=headphones")
        browser.wait(f"{IDS}.length === 4 && !document.getElementById('ask-problem').hidden")
        assert "temporarily unavailable" in browser.run("document.getElementById('ask-problem').innerText")
        assert browser.run("document.getElementById('answer').hidden") is True
    browser.problems[:] = [text for text in browser.problems if "503" not in text]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 360])
def test_everything_fits_and_is_readable(browser, address, width, dark):
    ask(browser, address, width=width, dark=dark)
    show_all(browser)
    choose(browser, "price.asc")
    browser.run("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(CONTRAST) == []
