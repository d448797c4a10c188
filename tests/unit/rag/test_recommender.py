"""An answer is worded by a model where that works, and by the rows where not; it always says which."""

import asyncio

import pytest

from headwater.errors import IndexUnavailableError, LanguageModelError
from headwater.rag.language_models.breaker import FAILURES, BreakingModel
from headwater.rag.language_models.protocol import LanguageModel
from headwater.rag.language_models.scripted import ScriptedLanguageModel
from headwater.rag.recommender import NOTHING_FOUND, Answer, Found, Recommender, Said
from headwater.rag.retrieval.query import SearchQuery
from headwater.rag.vector_stores.protocol import IndexCondition
from tests.fixtures.search.shop import ShopSearcher

QUERY = SearchQuery("headphones for swimming", 3)


def answer(model: LanguageModel | None, query: SearchQuery = QUERY, seconds: float = 5) -> Answer:
    return asyncio.run(build(model, seconds).recommend(query))[1]


def build(model: LanguageModel | None, seconds: float = 5) -> Recommender:
    shop = ShopSearcher()

    async def search(query: SearchQuery):
        return shop.search(query)

    return Recommender(search, model, title_fields=("title",), model_seconds=seconds)


def test_a_model_words_the_answer():
    found = answer(ScriptedLanguageModel())
    assert (found.mode, found.degraded, found.prompt_version) == ("llm", False, "recommend_v1")
    assert "SwimPro X1: Bone conduction headphones for swimming." in found.message
    assert "p1" in found.cited
    assert not found.removed


def test_unsupported_claims_are_dropped_and_counted():
    says = (
        "SwimPro X1 floats [p1]. It costs $5 [p1]. DeepDive is better [p77, p78]. LapBuds 2 has 99 GB [p2]."
    )
    found = answer(ScriptedLanguageModel(says=says))
    assert found.message == "SwimPro X1 floats."
    assert found.removed == {"price": 1, "id": 2, "attribute": 1}
    assert (found.mode, found.cited) == ("llm", ["p1"])


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (None, "no_language_model"),
        (ScriptedLanguageModel(fails=True), "language_model_failed"),
        (ScriptedLanguageModel(pause=3), "language_model_failed"),
        (ScriptedLanguageModel(says="Buy DeepDive [p99]."), "ungrounded"),
        (ScriptedLanguageModel(says="I am sorry, I cannot help with that."), "ungrounded"),
    ],
)
def test_without_a_usable_answer_the_rows_speak(model, reason):
    found = answer(model, seconds=0.3)
    assert (found.mode, found.degraded, found.reason) == ("extractive", True, reason)
    assert "SwimPro X1 (price 49.9): Bone conduction headphones for swimming." in found.message
    assert "sorry" not in found.message
    assert set(found.cited) == {"p1", "p2", "p4"}


def test_statements_before_an_interruption_are_kept():
    says = "SwimPro X1 floats [p1]. " + "LapBuds 2 float too [p2]. " * 40
    found = answer(ScriptedLanguageModel(says=says, pause=0.05), seconds=0.25)
    assert found.message.startswith("SwimPro X1 floats.")
    assert (found.mode, found.reason, found.degraded) == ("llm", "interrupted", True)


def test_nothing_found_is_no_answer_and_asks_no_model():
    model = ScriptedLanguageModel()
    found = answer(model, SearchQuery("mug", conditions=[IndexCondition("brand", "eq", "none")]))
    assert (found.message, found.mode, found.cited) == (NOTHING_FOUND, "extractive", [])
    assert model.heard == []


def test_events_come_in_order():
    async def collect():
        return [type(event) async for event in build(ScriptedLanguageModel()).stream(QUERY)]

    assert asyncio.run(collect()) == [Found, Said, Said, Said, Answer]


def test_trouble_with_the_index_is_not_covered_up():
    async def search(query: SearchQuery):
        raise IndexUnavailableError("down")

    with pytest.raises(IndexUnavailableError):
        asyncio.run(Recommender(search, ScriptedLanguageModel()).recommend(QUERY))


def test_a_failing_model_is_left_alone_for_a_while():
    now = [0.0]
    inner = ScriptedLanguageModel(fails=True)
    model = BreakingModel(inner, lambda: now[0])

    async def ask() -> str:
        return "".join([part async for part in model.stream([])])

    for _ in range(FAILURES + 2):
        with pytest.raises(LanguageModelError):
            asyncio.run(ask())
    assert len(inner.heard) == FAILURES
    now[0] = 100.0
    with pytest.raises(LanguageModelError):
        asyncio.run(ask())
    assert len(inner.heard) == FAILURES + 1
