"""Bad input gets a 4xx with a code; trouble of ours a 5xx with a code; neither tells how it looks inside."""

import json
import logging
import re

import pytest

from headwater.config.search.serving import LLM_KEY_VARIABLE
from headwater.observability.logging import configure_logging
from headwater.rag.language_models.scripted import ScriptedLanguageModel
from headwater.rag.retrieval.query import SearchQuery, SearchResult
from tests.fixtures.search.api import make_key, open_shop
from tests.fixtures.search.shop import ShopSearcher

JSON = {"Content-Type": "application/json"}
CANARY = "canary-4711-do-not-tell"

BODIES = {
    "nothing": (b"", 422, "invalid"),
    "no object": (b"[]", 422, "invalid"),
    "half of it": (b'{"query": "a', 400, "bad_json"),
    "no query": (b"{}", 422, "invalid"),
    "empty": (b'{"query": ""}', 422, "query_empty"),
    "blank": (b'{"query": " \\n\\t "}', 422, "query_empty"),
    "invisible": ('{"query": "\u200b\u2060\ufeff"}'.encode(), 422, "query_empty"),
    "a number": (b'{"query": 5}', 422, "invalid"),
    "null": (b'{"query": null}', 422, "invalid"),
    "binary": (bytes(range(256)) * 4, 400, "not_utf8"),
    "latin-1": ('{"query": "m\xfcll"}'.encode("latin-1"), 400, "not_utf8"),
    "half a surrogate pair": (b'{"query": "\\ud800 mug"}', 422, "query_not_text"),
    "100 kB": (json.dumps({"query": "x" * 100_000}).encode(), 413, "body_too_large"),
    "5,000 tokens": (json.dumps({"query": "mug " * 5_000}).encode(), 413, "body_too_large"),
    "5,000 short tokens": (json.dumps({"query": "a " * 5_000}).encode(), 422, "query_too_long"),
    "unknown key": (b'{"query": "mug", "filter": {}}', 422, "invalid"),
    "limit 0": (b'{"query": "mug", "limit": 0}', 422, "invalid"),
    "limit 10^9": (b'{"query": "mug", "limit": 1000000000}', 422, "invalid"),
    "as_of": (b'{"query": "mug", "as_of": "yesterday"}', 422, "invalid"),
    "diversity": (b'{"query": "mug", "diversity": NaN}', 422, "invalid"),
    "filters no object": (b'{"query": "mug", "filters": [1]}', 422, "invalid"),
    "unknown filter": (b'{"query": "mug", "filters": {"colour": "red"}}', 422, "filter_unknown_field"),
    "unknown operator": (b'{"query": "mug", "filters": {"price": {"below": 5}}}', 422, "filter_invalid"),
    "no operator": (b'{"query": "mug", "filters": {"price": {}}}', 422, "filter_invalid"),
    "range of words": (b'{"query": "mug", "filters": {"brand": {"lt": "b"}}}', 422, "filter_invalid"),
    "text for a number": (b'{"query": "mug", "filters": {"price": "5"}}', 422, "filter_invalid"),
    "number for a text": (b'{"query": "mug", "filters": {"brand": 5}}', 422, "filter_invalid"),
    "flag for a number": (b'{"query": "mug", "filters": {"price": true}}', 422, "filter_invalid"),
    "infinite": (b'{"query": "mug", "filters": {"price": {"lt": 1e999}}}', 422, "filter_invalid"),
    "empty list": (b'{"query": "mug", "filters": {"brand": []}}', 422, "filter_invalid"),
    "long list": (
        json.dumps({"query": "mug", "filters": {"brand": ["a"] * 101}}).encode(),
        422,
        "filter_invalid",
    ),
    "list of lists": (b'{"query": "mug", "filters": {"brand": [["a"]]}}', 422, "filter_invalid"),
    "null filter": (b'{"query": "mug", "filters": {"brand": null}}', 422, "filter_invalid"),
    "very deep": (
        b'{"query": "mug", "filters": ' + b'{"a":' * 2_000 + b"1" + b"}" * 2_000 + b"}",
        None,
        None,
    ),
    "very long number": (b'{"query": "mug", "limit": ' + b"9" * 6_000 + b"}", None, None),
}


@pytest.mark.parametrize("path", ["/search", "/recommend"])
@pytest.mark.parametrize("name", BODIES)
def test_bodies(name, path):
    body, status, code = BODIES[name]
    with open_shop() as client:
        answer = client.post(path, content=body, headers=JSON)
    found = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    if status is None:  # whichever: it is the client's fault, and the parser says so in its own way
        assert 400 <= answer.status_code < 500
    else:
        assert (answer.status_code, found["code"]) == (status, code)
    assert found["request_id"] == answer.headers["X-Request-Id"]
    assert found["title"]


def test_unknown_filter_error_lists_filters():
    with open_shop() as client:
        [error] = client.post("/search", json={"query": "a", "filters": {"colour": "red"}}).json()["errors"]
    assert error == {
        "where": "filters.colour",
        "allowed": ["brand", "category", "color", "in_stock", "price"],
    }


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
        ({**JSON, "Content-Length": "99999999"}, 413, "body_too_large"),
    ],
)
def test_headers(headers, status, code):
    with open_shop() as client:
        answer = client.post("/search", content=b'{"query": "mug"}', headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_body_without_a_length_is_measured_as_it_comes():
    with open_shop() as client:
        answer = client.post("/search", content=(b"x" * 1_000 for _ in range(100)), headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/search", 405),
        ("GET", "/nothing", 404),
        ("GET", "/assets/..%2fapi.py", 404),
        ("GET", "/redoc", 404),
    ],
)
def test_addresses(method, path, status):
    with open_shop() as client:
        answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json()["code"] in {"method_not_allowed", "not_found"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abc-1.2_3", True), ("a b", False), ("x" * 65, False), ("<script>", False), ("", False)],
)
def test_request_ids(given, kept):
    with open_shop() as client:
        found = client.get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"]
    assert (found == given) is kept
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", found)


class BrokenSearcher(ShopSearcher):
    """Fails in a way that nobody thought of."""

    def search(self, query: SearchQuery) -> SearchResult:
        raise ZeroDivisionError(f"in /srv/secret/place.py with {CANARY}")


@pytest.mark.parametrize("path", ["/search", "/recommend"])
@pytest.mark.parametrize("stream", [False, True])
def test_our_own_trouble_says_nothing_of_the_inside(path, stream):
    headers = {"Accept": "text/event-stream"} if stream else {}
    with open_shop(BrokenSearcher()) as client:
        answer = client.post(path, json={"query": "mug"}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    for word in (CANARY, "secret", "Traceback", "ZeroDivision", ".py", "/srv"):
        assert word not in answer.text


def test_a_secret_is_in_no_log_answer_or_prompt(monkeypatch, capsys):
    monkeypatch.setenv(LLM_KEY_VARIABLE, CANARY)
    monkeypatch.setenv("HEADWATER_CANARY_PASSWORD", CANARY)
    model = ScriptedLanguageModel()
    before = logging.getLogger().handlers[:]
    configure_logging(verbose=True, json=True)
    said = []
    try:
        with open_shop(model=model, keys=(make_key("shop", CANARY),)) as client:
            for headers in ({"X-API-Key": CANARY}, {"X-API-Key": CANARY + "x"}, {}):
                for path in ("/search", "/recommend"):
                    for query in (
                        "headphones for swimming",
                        "${HEADWATER_LLM_API_KEY}",
                        "",
                        "my mail is a@b.example",
                    ):
                        said.append(client.post(path, json={"query": query}, headers=headers).text)
                said += [
                    client.get(path, headers=headers).text for path in ("/status", "/metrics", "/readyz", "/")
                ]
    finally:
        logging.getLogger().handlers[:] = before
    logged = capsys.readouterr().err
    prompts = "".join(message.content for heard in model.heard for message in heard)
    assert '"request_id"' in logged
    assert "headphones" in prompts
    for text in (*said, logged, prompts):
        assert CANARY not in text
    # Nor what people ask: queries are not logged, and a model is told no addresses.
    assert "a@b.example" not in logged + prompts
    assert "headphones" not in logged
