"""What can be answered at all: both error rates on the shipped data, and the rule on small cases."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from headwater.config.search.index import EmbedderConfig
from headwater.rag.embedding import build_embedder
from headwater.rag.embedding.protocol import Embedder
from headwater.rag.evaluation.files import read_hopeless, read_shipped
from headwater.rag.evaluation.judged import JudgedProduct, JudgedSet
from headwater.rag.evaluation.runs import build_index
from headwater.rag.retrieval.query import SearchQuery, SearchResult
from headwater.rag.retrieval.relevance import list_main_words
from headwater.rag.retrieval.retriever import Retriever
from headwater.rag.retrieval.understanding import MAX_WORDS
from tests.fixtures.search.judged_shops import SHOPS, list_hopeless, read_shop
from tests.fixtures.search.other_catalogue import generate_other

# What the defaults reach is on the page of figures. The shipped list has many near misses.
MAX_REFUSED = {
    "shipped": 0.02,
    "other": 0.02,
    "prose": 0.05,
    "marketplace": 0.09,
    "sheets": 0.09,
    "german": 0.37,
    "french": 0.18,
    "spanish": 0.22,
}
MAX_ANSWERED = {
    "shipped": 0.17,
    "other": 0.07,
    "prose": 0.05,
    "marketplace": 0.07,
    "sheets": 0.04,
    "german": 0.06,
    "french": 0.11,
    "spanish": 0.15,
}
LIMIT = 5


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return build_embedder(EmbedderConfig(), {})


def build_retriever(judged: JudgedSet, embedder: Embedder) -> Retriever:
    retriever = Retriever(build_index(judged, embedder), embedder)
    retriever.learn_words()
    return retriever


def load(shop: str) -> tuple[JudgedSet, list[str]]:
    """The shop and its hopeless queries. The shipped list has fishing rods, as the other shop has."""
    if shop == "shipped":
        return read_shipped(), read_hopeless()
    if shop == "other":
        return generate_other(), [text for text in read_hopeless() if text != "fishing rod"]
    return read_shop(shop), list_hopeless(shop)


@pytest.mark.parametrize(
    "shop",
    [
        "shipped",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("other", *SHOPS)),
    ],
)
@pytest.mark.slow
def test_error_rates_of_both_kinds(
    shop: str, embedder: Embedder, record_property: Callable[[str, object], None]
) -> None:
    judged, hopeless = load(shop)
    retriever = build_retriever(judged, embedder)
    refused = [query.text for query in judged.queries if not search(retriever, query.text).is_answerable]
    answered = [text for text in hopeless if search(retriever, text).is_answerable]
    rates = (len(refused) / len(judged.queries), len(answered) / len(hopeless))
    record_property("refused", f"{rates[0]:.1%}")
    record_property("answered", f"{rates[1]:.1%}")
    assert rates[0] <= MAX_REFUSED[shop], (rates, refused)
    assert rates[1] <= MAX_ANSWERED[shop], (rates, answered)


def search(retriever: Retriever, text: str) -> SearchResult:
    return retriever.search(SearchQuery(text, LIMIT))


def test_there_are_enough_hopeless_queries() -> None:
    assert len(set(read_hopeless())) >= 90


@pytest.mark.parametrize(
    ("text", "unmatched"),
    [
        ("asdf", ("asdf",)),
        ("car insurance quote", ("car", "insurance", "quote")),
        ("headphones for swimming", ("headphones",)),
        ("good headphones under 50 euros", ("headphones",)),
        ("blue headphones", ("headphones",)),
        ("???", ()),
        ("", ()),
    ],
)
def test_a_shop_without_headphones_says_so(
    no_headphones: Retriever, text: str, unmatched: tuple[str, ...]
) -> None:
    found = search(no_headphones, text)
    assert (found.is_answerable, found.unmatched) == (False, unmatched)


@pytest.fixture(scope="module")
def no_headphones(embedder: Embedder) -> Retriever:
    """The shipped catalogue without them; a case for headphones is none."""
    judged = read_shipped()
    kept = [one for one in judged.products if not is_headphones(one)]
    assert 0 < len(judged.products) - len(kept) < 60
    return build_retriever(replace(judged, products=kept), embedder)


def is_headphones(product: JudgedProduct) -> bool:
    name = product.title.lower().partition(" for ")[0]
    return "headphone" in f"{name} {product.description.lower()} {product.fields.get('category', '')}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("headphones for swimming", ["headphones"]),
        ("waterproof headphones, under 50", ["waterproof", "headphones"]),
        ("I need something to write with", ["write"]),
        ("the best great value headphones without cable", ["headphones"]),
        ("what helps to carry shampoo and a razor", ["carry", "shampoo"]),
        ("for swimming", ["swimming"]),
        ("ra402 lamp", ["ra", "402", "lamp"]),
        ("can you recommend some nice things", []),
        ("", []),
    ],
)
def test_the_words_for_the_thing_itself(text: str, words: list[str]) -> None:
    assert [term.word for term in list_main_words(text)] == words


def test_of_a_long_text_only_the_first_words_are_the_thing() -> None:
    text = " ".join("".join(pair) for pair in product("bcdfghjklm", "nrstvwz"))
    assert len(list_main_words(text)) == MAX_WORDS
