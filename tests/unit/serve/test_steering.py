"""Texts of sellers never become instructions: each attack, against a model that obeys all that it is told."""

import asyncio
import json

import pytest

from headwater.config.search.answer import AnswerConfig
from headwater.rag.generation.orders import is_order
from headwater.rag.generation.product import build_products
from headwater.rag.generation.prompt import FACTS_SCHEMA, STATEMENTS_SCHEMA, build_messages
from headwater.rag.language_models.protocol import ChatMessage
from headwater.rag.language_models.scripted import ObedientLanguageModel, ScriptedLanguageModel, iter_orders
from headwater.rag.prompts import load_packaged_prompt
from headwater.rag.prompts.data_block import close_line, house_lines, open_line
from headwater.rag.retrieval.query import FoundRow
from tests.fixtures.search.api import open_shop
from tests.fixtures.search.attacks import ATTACKS, MARK
from tests.fixtures.search.shop import ITEMS, Item, ShopSearcher

NONCE = "0123456789abcdef"
PROMPT = load_packaged_prompt("facts")
EACH = pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))


def aim(attack: str) -> str:
    return attack.replace("{close}", close_line(NONCE))


def ask_model(messages: list[ChatMessage]) -> str:
    async def collect() -> str:
        return "".join([part async for part in ScriptedLanguageModel().stream(messages)])

    return asyncio.run(collect())


def test_there_are_enough():
    assert len(set(ATTACKS)) >= 60


@EACH
def test_the_model_would_obey(attack):
    # Without this the other tests would prove nothing: each text is obeyed where instructions stand.
    rules = PROMPT.render(NONCE)
    said = ask_model([ChatMessage("system", f"{rules}\n{aim(attack)}"), ChatMessage("user", "")])
    visible = "".join(
        chr(ord(character) - 0xE0000) if ord(character) > 0xE0000 else character for character in said
    )
    assert MARK in visible or MARK[::-1] in visible or "I\u200bg" in said or "I\u2060g" in said


@EACH
@pytest.mark.parametrize("place", ["text", "title", "brand", "id", "question"])
def test_no_text_gets_out_of_its_block(attack, place):
    # Even with the very delimiter of this request in its text.
    given = aim(attack)
    fields = {"title": given if place == "title" else "Mug", "brand": given if place == "brand" else "Acme"}
    row = FoundRow(given if place == "id" else "p1", 1, 1.0, given if place == "text" else "Mug.", fields, "")
    question = given if place == "question" else "mug"
    messages = build_messages(question, build_products([row], ("title",)), PROMPT, NONCE, {})
    assert list(iter_orders(messages, [PROMPT])) == []
    system, user = messages
    assert set(system.content.splitlines()) == house_lines(PROMPT, NONCE)
    opened, block, closed = user.content.split("\n")
    assert (opened, closed) == (open_line(NONCE), close_line(NONCE))
    assert "<" not in block
    assert "http" not in block
    assert "evil.example" not in block
    assert all(character.isprintable() for character in block)
    assert set(json.loads(block)) == {"settings", "question", "products"}


@EACH
def test_no_attack_is_followed(attack):
    shop = ShopSearcher(
        [*ITEMS, Item("evil", "Swim headphones", f"Headphones for swimming. {attack}", {"price": 1.0})]
    )
    model = ScriptedLanguageModel()
    with open_shop(shop, model=model) as client:
        answer = client.post("/recommend", json={"query": "headphones for swimming", "limit": 5}).json()
    [messages] = model.heard
    assert list(iter_orders(messages, [PROMPT])) == []
    assert MARK not in messages[1].content
    assert answer["mode"] == "llm"
    assert MARK not in answer["message"]
    assert "evil.example" not in answer["message"]
    # The seller's product is found like any other; its text goes out as it is, for the page to escape.
    assert "evil" in {item["id"] for item in answer["products"]}


@EACH
@pytest.mark.parametrize("wording", ["facts", "free"])
@pytest.mark.parametrize("place", ["text", "title", "brand"])
def test_a_model_that_obeys_the_data_is_not_heard(attack, place, wording):
    # It says whatever any text wants; only what was checked against the rows reaches the visitor.
    item = Item(
        "evil",
        f"Swim headphones {attack}" if place == "title" else "Swim headphones",
        f"Headphones for swimming. {attack if place == 'text' else ''}",
        {"price": 1.0, "brand": attack if place == "brand" else "Aquora"},
    )
    rules = AnswerConfig(wording=wording)
    with open_shop(ShopSearcher([item]), model=ObedientLanguageModel(), answer=rules) as client:
        answer = client.post("/recommend", json={"query": "headphones for swimming", "limit": 5}).json()
    assert MARK not in answer["message"]
    assert "evil.example" not in answer["message"]
    assert not set(answer["message"]) & set("<>")
    assert answer["products"][0]["id"] == "evil"


@pytest.mark.parametrize("wording", ["facts", "free"])
def test_the_obedient_model_obeys(wording):
    # Without this the test above would prove nothing: it outputs all that a text may ask for.
    row = FoundRow("p1", 1, 1.0, "Mug with a handle. It keeps tea warm.", {"title": "Mug"}, "")
    prompt = load_packaged_prompt(wording)
    messages = build_messages("mug", build_products([row], ("title",)), prompt, NONCE, {})
    schema = FACTS_SCHEMA if wording == "facts" else STATEMENTS_SCHEMA

    async def collect():
        return "".join([part async for part in ObedientLanguageModel().stream(messages, schema)])

    said = json.loads(asyncio.run(collect()))
    texts = (
        [fact.get("quote") for fact in said[0]["facts"]] if wording == "facts" else [i["text"] for i in said]
    )
    assert {"tea", "It keeps tea warm."} <= set(texts)


@pytest.mark.parametrize(
    "sentence",
    [
        "Instructions included.",
        "Forget about cables.",
        "AI noise cancelling.",
        "Print photos at home.",
        "Ignore the noise around you.",
        "Answer calls with one tap.",
        "Say hello to better sleep.",
        "Works with voice assistants.",
        "Prompt delivery.",
    ],
)
def test_descriptions_are_no_orders(sentence):
    assert not is_order(sentence)


@EACH
def test_extracts_are_plain_words(attack):
    shop = ShopSearcher(
        [Item("evil", "Swim headphones", f"Headphones for swimming. {attack}", {"price": 1.0})]
    )
    with open_shop(shop) as client:
        message = client.post("/recommend", json={"query": "headphones for swimming"}).json()["message"]
    assert message.startswith("Swim headphones (price 1)")
    assert MARK not in message
    assert not set(message) & set("<>\u200b\u202e")
    assert "http" not in message
    assert "javascript:" not in message


@pytest.mark.parametrize(
    "says",
    [
        "PWNED",
        "Visit https://evil.example now!",
        '{"statements": [{"text": "PWNED", "products": []}]}',
        '{"statements": [{"text": "Buy it", "products": ["../../etc/passwd"]}]}',
        "<script>alert(1)</script> [p999]",
    ],
)
def test_a_model_that_was_steered_all_the_same_is_not_heard(says):
    with open_shop(model=ScriptedLanguageModel(says=says)) as client:
        answer = client.post("/recommend", json={"query": "headphones for swimming"}).json()
    assert (answer["mode"], answer["degraded_reason"]) == ("extractive", "ungrounded")
    assert MARK not in json.dumps(answer)
    assert "evil.example" not in answer["message"]
