"""Answers of many shapes, cut anywhere on their way, give the same statements."""

import json

import pytest

from headwater.rag.generation.product import build_products
from headwater.rag.generation.statements import AnswerReader, AnswerStatement
from headwater.rag.retrieval.query import FoundRow

PRODUCTS = build_products(
    [
        FoundRow(key, 1, 1.0, "text", {"title": title}, "")
        for key, title in (("p1", "SwimPro X1"), ("p2", "LapBuds"))
    ],
    ("title",),
)
ONE, TWO = AnswerStatement("SwimPro X1 floats.", ("p1",)), AnswerStatement("LapBuds hold 4 GB.", ("p2",))
ASKED_FOR = json.dumps(
    {"statements": [{"text": ONE.text, "products": ["p1"]}, {"text": TWO.text, "products": ["p2"]}]}
)

SHAPES = {
    "as asked for": ASKED_FOR,
    "fenced": f"```json\n{ASKED_FOR}\n```",
    "a bare array": json.dumps([{"text": ONE.text, "id": "p1"}, {"text": TWO.text, "ids": ["p2"]}]),
    "other names": json.dumps(
        {
            "recommendations": [
                {"product_id": "p1", "reason": ONE.text},
                {"product_id": "p2", "reason": TWO.text},
            ]
        }
    ),
    "marks in the text": json.dumps(
        {
            "statements": [
                {"text": "SwimPro X1 floats [p1].", "products": []},
                {"text": TWO.text, "products": [{"id": "p2"}]},
            ]
        }
    ),
    "prose": "SwimPro X1 floats [p1]. LapBuds hold 4 GB [p2].",
    "a list": "- SwimPro X1 floats. [p1]\n- LapBuds hold 4 GB. [p2]",
    "prose by title": "1. SwimPro X1 floats.\n2. LapBuds hold 4 GB.",
    "prose inside JSON": json.dumps({"message": "SwimPro X1 floats [p1]. LapBuds hold 4 GB [p2]."}),
}


def read(text: str, size: int) -> list[AnswerStatement]:
    reader = AnswerReader(PRODUCTS)
    found = [item for at in range(0, len(text), size) for item in reader.feed(text[at : at + size])]
    return [*found, *reader.finish()]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_shapes(shape, size):
    found = read(SHAPES[shape], size)
    assert [(item.text.replace(" .", "."), item.cited) for item in found] == [
        (ONE.text, ONE.cited),
        (TWO.text, TWO.cited),
    ]


def test_statements_are_streamed_before_the_answer_ends():
    reader = AnswerReader(PRODUCTS)
    first, rest = ASKED_FOR.split(", {")
    assert reader.feed(first) == [ONE]
    assert reader.feed(", {" + rest) == [TWO]


def test_a_sentence_without_a_name_speaks_of_the_one_before():
    found = read("It is good. SwimPro X1 floats [p1]. It has a case.", 5)
    assert [item.cited for item in found] == [(), ("p1",), ("p1",)]


@pytest.mark.parametrize(
    "text", ["", "   ", "{", '{"statements": [', "[[[[" * 5_000, "null", '{"statements": 5}', "```"]
)
def test_broken_answers_are_no_statements(text):
    assert [item for item in read(text, 50) if item.cited] == []
