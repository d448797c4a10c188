"""Any endpoint that speaks OpenAI's protocol, through the real SDK: answers, retries, deadlines."""

import asyncio
import time

import pytest

from headwater.config.search.serving import LanguageModelConfig
from headwater.errors import LanguageModelError
from headwater.rag.generation.prompt import STATEMENTS_SCHEMA
from headwater.rag.language_models import build_language_model
from headwater.rag.language_models.deadline import iter_until
from headwater.rag.language_models.openai import OpenAILanguageModel
from headwater.rag.language_models.protocol import ChatMessage
from tests.fixtures.search.endpoint import ScriptedEndpoint, run_endpoint

KEY = "sk-test-4711"
MESSAGES = [ChatMessage("system", "rules"), ChatMessage("user", "data")]


def ask(endpoint: ScriptedEndpoint, seconds: float = 5, times: int = 1) -> str:
    config = LanguageModelConfig(endpoint=endpoint.address, model="m", timeout=seconds)

    async def collect() -> str:
        model = OpenAILanguageModel(config, KEY)
        try:
            for _ in range(times):
                parts = [
                    part async for part in iter_until(model.stream(MESSAGES, STATEMENTS_SCHEMA), seconds)
                ]
            return "".join(parts)
        finally:
            await model.close()

    return asyncio.run(collect())


def test_the_answer_comes_in_parts_with_the_roles_kept_apart():
    with run_endpoint(text="swim with these") as endpoint:
        assert ask(endpoint) == "swim with these"
    [body], [headers] = endpoint.bodies, endpoint.headers
    assert body["messages"] == [{"role": "system", "content": "rules"}, {"role": "user", "content": "data"}]
    assert body["response_format"]["json_schema"]["schema"] == STATEMENTS_SCHEMA
    assert body["stream"] is True
    assert "tools" not in body
    assert headers["authorization"] == f"Bearer {KEY}"


def test_an_endpoint_without_schemas_is_asked_without_one_from_then_on():
    with run_endpoint(text="yes", takes_schema=False) as endpoint:
        assert ask(endpoint, times=2) == "yes"
    assert ["response_format" in body for body in endpoint.bodies] == [True, False, False]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_transient_errors_are_retried(status):
    with run_endpoint(text="yes", statuses=[status, status]) as endpoint:
        assert ask(endpoint, 10) == "yes"
    assert len(endpoint.bodies) == 3


def test_three_times_is_enough():
    with (
        run_endpoint(text="yes", statuses=[503] * 5) as endpoint,
        pytest.raises(LanguageModelError, match="503"),
    ):
        ask(endpoint, 10)
    assert len(endpoint.bodies) == 3


@pytest.mark.parametrize("status", [401, 403, 404])
def test_permanent_errors_are_not_retried(status):
    with (
        run_endpoint(statuses=[status] * 3) as endpoint,
        pytest.raises(LanguageModelError, match=str(status)) as caught,
    ):
        ask(endpoint)
    assert len(endpoint.bodies) == 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("slow", [{"first_pause": 5}, {"pause": 0.2}])
def test_complete_answer_has_a_deadline(slow):
    started = time.monotonic()
    with run_endpoint(text="word " * 100, **slow) as endpoint:
        with pytest.raises(LanguageModelError):
            ask(endpoint, 0.5)
        assert time.monotonic() - started < 3


def test_truncated_answer_is_a_failure():
    with run_endpoint(text="one two three", breaks_after=2) as endpoint, pytest.raises(LanguageModelError):
        ask(endpoint)


def test_refused_connection_is_reported_immediately():
    with pytest.raises(LanguageModelError, match=r"m at 127\.0\.0\.1"):
        ask(ScriptedEndpoint(address="http://127.0.0.1:9/v1"))


def test_without_a_key_there_is_no_model():
    config = LanguageModelConfig(endpoint="http://127.0.0.1:9/v1", model="m")
    assert build_language_model(config, {}) is None
    assert build_language_model(None, {"HEADWATER_LLM_API_KEY": KEY}) is None
    model = build_language_model(config, {"HEADWATER_LLM_API_KEY": KEY})
    assert model is not None
    assert model.name == "m"
