"""The page in a real browser: asked by keyboard, read by a screen reader, attacked by what sellers write."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.rag.language_models.scripted import ScriptedLanguageModel
from tests.fixtures.search.api import build_shop_api, make_key, run_server
from tests.fixtures.search.attacks import ATTACKS
from tests.fixtures.search.browser import CONTRAST, Browser
from tests.fixtures.search.shop import ITEMS, Item, ShopSearcher

STATE: dict[str, Any] = {
    "events": {"rows": 120, "commits": 4, "last_commit": "2026-11-21T12:00:00Z"},
    "tables": {
        "products": {"rows": 99, "commits": 3, "last_commit": None, "lag_events": 2, "lag_seconds": 1.5},
        "<b>orders</b>": {"rows": 7, "commits": 1, "last_commit": None, "lag_events": 0, "lag_seconds": 0},
    },
    "quarantine": {"messages": 1, "objects": 2, "records": 3},
    "queue": None,
    "last_commits": [{"completed": "20261121120000000", "table": "products", "action": "commit"}],
}
CARDS = "[...document.querySelectorAll('.card')]"
# Both requests of a question are finished.
ANSWERED = (
    "!document.getElementById('answer-mode').hidden && "
    "!document.getElementById('ask-button').hasAttribute('aria-busy')"
)
pytestmark = pytest.mark.usefixtures("without_complaints")


@pytest.fixture(scope="module")
def address(browser: Browser) -> Iterator[str]:
    evil = [
        Item(f"e{n}", f"Evil {n}", f"Evil headphones. {text}", {"brand": text[:50], "price": 1.5})
        for n, text in enumerate(ATTACKS)
    ]
    titled = [Item(text, text, "A titled evil.", {"price": 2}) for text in ATTACKS[32:41]]
    shop = ShopSearcher([*ITEMS, *evil, *titled])
    with run_server(build_shop_api(shop, model=ScriptedLanguageModel(), read_state=lambda: STATE)) as found:
        yield found


def ask_by_keyboard(browser: Browser, query: str) -> None:
    browser.run("document.getElementById('query').focus()")
    browser.type(query)
    browser.press("Enter")
    browser.wait(ANSWERED)


def test_a_question_is_asked_and_answered_by_keyboard(browser, address):
    browser.open(address)
    browser.wait("!document.getElementById('filters').hidden")
    browser.press("Tab")
    assert browser.focused() == "Skip to search"
    ask_by_keyboard(browser, "bone conduction headphones for swimming")
    text = browser.run("document.getElementById('answer').innerText")
    assert "SwimPro X1 (price 49.9): Bone conduction headphones for swimming." in text
    assert "checked against the rows" in text
    assert browser.run(f"{CARDS}.length") == 12
    card = browser.run(f"{CARDS}.find((card) => card.dataset.id === 'p1').innerText")
    assert "49.90" in card
    marked = browser.run(
        "[...document.querySelectorAll('.card[data-id=p1] mark')].map((mark) => mark.textContent)"
    )
    assert {"headphones", "swimming"} <= set(marked)
    # Reloading the address asks again.
    assert "q=bone" in browser.run("location.href")


def test_screen_reader_gets_names_and_the_answer(browser, address):
    browser.open(f"{address}/?q=swimming")
    browser.wait(ANSWERED)
    roles = browser.list_roles()
    for wanted in (
        ("tab", "Search"),
        ("tab", "Pipeline"),
        ("search", ""),
        ("searchbox", "What are you looking for?"),
        ("button", "Ask"),
        ("heading", "Answer"),
        ("heading", "All results"),
        ("combobox", "Sort by"),
        ("button", "More results"),
    ):
        assert wanted in roles, wanted
    assert all(
        name for role, name in roles if role in {"button", "tab", "textbox", "searchbox", "combobox", "link"}
    )
    status = browser.run("document.querySelector('[aria-live=polite]').textContent")
    assert "products." in status


def test_filters_narrow_the_results(browser, address):
    browser.open(f"{address}/?q=headphones")
    browser.wait(ANSWERED)
    browser.run(
        "const brand = document.querySelector('[data-field=brand]'); brand.value = 'Aquora';"
        "brand.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    browser.wait(f"{ANSWERED} && {CARDS}.length === 2")
    assert set(browser.run(f"{CARDS}.map((card) => card.dataset.id)")) == {"p1", "p4"}
    assert browser.run("document.getElementById('filters-count').textContent") == "1"
    browser.run("document.getElementById('filters-clear').click()")
    browser.wait(f"{CARDS}.length === 12")


def test_similar_products_are_shown_and_focused(browser, address):
    browser.open(f"{address}/?q=bone+conduction+headphones")
    browser.wait(ANSWERED)
    browser.run("document.querySelector('.card[data-id=p1] .card-foot button').click()")
    browser.wait("document.getElementById('results-title').textContent === 'Products like SwimPro X1'")
    assert browser.focused() == "results-title"
    assert "p1" not in browser.run(f"{CARDS}.map((card) => card.dataset.id)")


def test_tabs_move_with_the_arrows_and_show_the_pipeline(browser, address):
    browser.open(address)
    browser.run("document.getElementById('tab-search').focus()")
    browser.press("ArrowRight")
    assert browser.focused() == "tab-pipeline"
    browser.wait("document.querySelectorAll('#tiles dt').length > 4")
    text = browser.run("document.getElementById('view-pipeline').innerText")
    for word in ("Ready", "Quarantine", "products", "<b>orders</b>", "1.5 s", "Last commits"):
        assert word in text
    browser.wait("document.querySelector('#plot svg') !== null")
    assert "the index was" in browser.run("document.querySelector('#plot svg').getAttribute('aria-label')")
    browser.press("Home")
    assert browser.run("document.getElementById('view-pipeline').hidden") is True


def test_nothing_a_seller_writes_is_run_or_becomes_markup(browser, address):
    browser.open(address)
    kinds = browser.run(
        "[...new Set([...document.querySelectorAll('*')].map((e) => e.tagName))].sort().join()"
    )
    allowed = set(kinds.split(",")) | {
        "LI",
        "ARTICLE",
        "MARK",
        "CODE",
        "H3",
        "UL",
        "OPTION",
        "FIELDSET",
        "LEGEND",
        "DATALIST",
        "SELECT",
        "SPAN",
        "DL",
        "DT",
        "DD",
    }
    for start in range(0, len(ATTACKS), 12):
        some = [f"e{n}" for n in range(start, min(start + 12, len(ATTACKS)))]
        browser.open(f"{address}/")
        # The rows that a search would bring, all of them, through the page's own code.
        rows = [f"/products/{name}/similar?limit=20" for name in some[:2]]
        for row in rows:
            browser.run(
                f"document.getElementById('query').value = 'Evil headphones {start} ' + {json.dumps(row)};"
                "document.getElementById('ask').requestSubmit()"
            )
            browser.wait(ANSWERED)
            browser.run("document.querySelector('.card-foot button').click()")
            browser.wait("document.getElementById('results-title').textContent.startsWith('Products like')")
            browser.run("new Promise((done) => setTimeout(done, 50))")
        found = set(browser.run("[...document.querySelectorAll('*')].map((e) => e.tagName)"))
        assert found <= allowed, found - allowed
        assert browser.run("document.title") == "headwater"
        attributes = browser.run("[...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_a_script_in_the_page_would_be_stopped(browser, address):
    # The second line of defence: what the browser itself refuses on this page.
    browser.open(address)
    for attempt in (
        "document.body.innerHTML = '<b>x</b>'",
        "document.createElement('script').textContent = 'document.title = 1'",
        "document.createElement('img').setAttribute('onerror', 'document.title = 1')",
    ):
        done = browser.run(
            f"(() => {{ try {{ {attempt}; return 'done'; }} catch (error) {{ return error.name; }} }})()"
        )
        assert done == "TypeError", attempt
    assert all(
        "TrustedHTML" in text or "TrustedScript" in text or "Trusted Type" in text
        for text in browser.problems
    )
    browser.problems.clear()


def test_nothing_is_fetched_from_elsewhere(browser, address):
    browser.open(f"{address}/?q=headphones")
    browser.wait(ANSWERED)
    fetched = browser.run("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert len(fetched) > 5
    assert all(name.startswith(address) for name in fetched)


def test_a_key_is_asked_for_and_kept_in_the_tab_only(browser, tmp_path):
    with run_server(build_shop_api(keys=(make_key("shop", "good"),))) as address:
        browser.open(address)
        browser.wait("!document.getElementById('key-line').hidden")
        browser.type("good")
        browser.press("Enter")
        browser.wait("document.getElementById('key-line').hidden")
        ask_by_keyboard(browser, "swimming")
        assert "In the products’ own words" in browser.run("document.getElementById('answer').innerText")
        assert browser.run("localStorage.length") == 0
    browser.problems[:] = [text for text in browser.problems if "401" not in text]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1200, 360])
def test_nothing_sticks_out_at_any_width_and_words_are_readable(
    browser, address, tmp_path: Path, width, dark
):
    browser.open(f"{address}/?q=headphones", width=width, dark=dark)
    browser.wait(ANSWERED)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(CONTRAST) == []
    browser.save_screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000
