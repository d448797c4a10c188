import pytest

from headwater.rag.field_value import FieldValue
from headwater.rag.passage import Passage, read_price
from headwater.rag.retrieval.candidates import Candidate, gather
from headwater.rag.retrieval.ranking import rank
from headwater.rag.retrieval.understanding import understand
from headwater.rag.vector_stores.protocol import PassageHit


def make(
    key: str, text: str = "thing\ntext", dense: float = 0.5, words: float | None = 1.0, **fields: FieldValue
) -> Candidate:
    return Candidate(Passage(key, key, 0, text, fields, ""), [dense, words])


def order(query: str, *candidates: Candidate) -> list[str]:
    understanding = understand(query)
    stems = [term.stems for term in understanding.wanted]
    return [one.candidate.passage.row_key for one in rank(candidates, stems, understanding)]


def test_equals_come_in_the_order_of_keys() -> None:
    assert order("thing", make("b"), make("a"), make("c")) == ["a", "b", "c"]
    assert order("thing") == []


def test_scores_of_the_legs_count() -> None:
    assert order("thing", make("a", dense=0.1), make("b", dense=0.9)) == ["b", "a"]
    assert order("thing", make("a", words=None), make("b", words=0.1)) == ["b", "a"]


def test_the_best_few_are_the_first_of_all() -> None:
    candidates = [make(f"{number * 7 % 20:02}", dense=number % 3 / 2) for number in range(20)]
    everything = rank(candidates, [("thing",)], understand("thing"))
    assert len({one.score for one in everything}) < len(everything), "the test needs equals to say anything"
    for count in range(22):
        assert rank(candidates, [("thing",)], understand("thing"), count=count) == everything[:count]


@pytest.mark.parametrize(
    ("fields", "price"),
    [
        ({"price": 3}, 3.0),
        ({"sale_price": 2.5}, 2.5),
        ({"salePrice": 2.5}, 2.5),
        ({"cost": "9.90"}, 9.9),
        ({"price": "€ 12"}, 12.0),
        ({"price.amount": 7}, 7.0),
        ({"priceless": 1}, None),
        ({"price": True}, None),
        ({"price": "cheap"}, None),
        ({"weight": 3}, None),
        ({}, None),
    ],
)
def test_a_price_is_found_by_its_name(fields: dict[str, FieldValue], price: float | None) -> None:
    assert read_price(fields) == price


def test_without_any_price_a_price_word_changes_nothing() -> None:
    candidates = [make("a", dense=0.9), make("b", dense=0.1)]
    assert order("cheap thing under 20", *candidates) == order("thing", *candidates)


@pytest.mark.parametrize(
    ("text", "affirmed"),
    [
        ("With a cable.", True),
        ("No cable.", False),
        ("works without any cable", False),
        ("cable free", False),
        ("not one cable, but a strap", False),
        ("No strap. Comes with a long cable", True),
        ("nothing", False),
        ("NO cable", False),
        ("nö cable", False),
        ("", False),
    ],
)
def test_a_negated_mention_is_none(text: str, affirmed: bool) -> None:
    assert Candidate(Passage("c", "row", 0, text, {}, ""), [1.0, None]).affirms("cabl") is affirmed


def test_of_several_chunks_the_one_found_higher_is_taken() -> None:
    low, high = (
        PassageHit(Passage("c1", "a", 0, "one", {}, ""), 0.2),
        PassageHit(Passage("c2", "a", 1, "two", {}, ""), 5.0),
    )
    other = PassageHit(Passage("c3", "b", 0, "three", {}, ""), 0.9)
    found = {one.passage.row_key: one for one in gather([[other, low], [high]])}
    assert (found["a"].passage.text, list(found["a"].scores)) == ("two", [0.2, 5.0])
    assert list(found["b"].scores) == [0.9, None]
