"""The API over ASGI: shapes, freshness, filters, events, and an event loop that nobody blocks."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest

from headwater.config.search.answer import AnswerConfig
from headwater.config.search.serving import ServeConfig
from headwater.errors import IndexUnavailableError, LakeError
from headwater.rag.language_models.scripted import ScriptedLanguageModel
from headwater.rag.retrieval.query import SearchQuery, SearchResult
from tests.fixtures.search.api import build_shop_api, open_shop, parse_events, run_server
from tests.fixtures.search.shop import AS_OF, ITEMS, ShopSearcher
from tests.fixtures.waiting import wait_until

SWIM = {"query": "headphones for swimming"}


def test_recommend_has_the_shape_that_clients_know():
    with open_shop(model=ScriptedLanguageModel()) as client:
        found = client.post("/recommend", json=SWIM).json()
    assert (found["success"], found["query"]) == (True, SWIM["query"])
    assert "SwimPro X1 (price 49.9): Bone conduction" in found["message"]
    assert {"p1", "p2", "p4"} <= {item["id"] for item in found["products"]}
    first = next(item for item in found["products"] if item["id"] == "p1")
    (text,) = first["matched_content"]
    assert text.startswith("SwimPro X1. Bone conduction")
    assert first["fields"]["price"] == 49.9
    assert (found["mode"], found["degraded"], found["index_version"], found["as_of"]) == (
        "llm",
        False,
        "v1",
        AS_OF,
    )
    assert 0 <= found["lag_seconds"] < 60
    assert found["took_ms"] > 0


def test_recommend_without_a_model_says_that_it_is_an_extract():
    with open_shop() as client:
        found = client.post("/recommend", json=SWIM).json()
        metrics = client.get("/metrics").text
    assert (found["success"], found["mode"], found["degraded"]) == (True, "extractive", True)
    assert found["degraded_reason"] == "no_language_model"
    assert 'headwater_answers_degraded_total{reason="no_language_model"} 1.0' in metrics


def test_nothing_found_is_no_success():
    with open_shop(model=ScriptedLanguageModel()) as client:
        found = client.post("/recommend", json={**SWIM, "filters": {"price": {"lt": 1}}}).json()
    assert (found["success"], found["products"], found["message"]) == (False, [], "No product matches.")


@pytest.mark.parametrize("how", ["field", "header"])
def test_events_come_in_their_order(how):
    body = {**SWIM, "stream": how == "field"}
    headers = {"Accept": "text/event-stream"} if how == "header" else {}
    with open_shop(model=ScriptedLanguageModel()) as client:
        answer = client.post("/recommend", json=body, headers=headers)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    events = parse_events(answer.text)
    assert [name for name, _ in events] == ["products", "token", "token", "token", "done"]
    done = events[-1][1]
    assert "".join(data["text"] for name, data in events if name == "token") == done["message"]
    assert events[0][1]["products"] == done["products"]


def test_ungrounded_answers_are_counted_in_metrics():
    says = (
        "DeepDive is best [p77]. SwimPro X1 costs $3 [p1]. LapBuds 2 hold 99 GB [p2]. "
        "SwimPro X1 is for swimming [p1]."
    )
    rules = AnswerConfig(wording="free")
    with open_shop(model=ScriptedLanguageModel(says=says), answer=rules) as client:
        found = client.post("/recommend", json=SWIM).json()
        metrics = client.get("/metrics").text
    assert found["message"] == "SwimPro X1 is for swimming."
    assert found["removed"] == {"id": 1, "price": 1, "attribute": 1}
    assert found["citations"] == ["p1"]
    for fault in found["removed"]:
        assert f'headwater_statements_ungrounded_total{{fault="{fault}"}} 1.0' in metrics


def test_search_returns_hits_without_scores():
    with open_shop() as client:
        found = client.post("/search", json={**SWIM, "limit": 2}).json()
    assert [hit["rank"] for hit in found["hits"]] == [1, 2]
    assert [hit["score"] for hit in found["hits"]] == [1.0, 0.5]
    assert set(found["hits"][0]) == {"id", "rank", "score", "text", "fields", "matched_terms"}


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({"price": {"lte": 50}}, {"p1", "p3"}),
        ({"price": {"gt": 49, "lt": 100}}, {"p1", "p2"}),
        ({"brand": "Aquora"}, {"p1", "p4"}),
        ({"brand": {"ne": "Aquora"}}, {"p2", "p3"}),
        ({"color": ["blue", "green"]}, {"p2", "p3"}),
        ({"color": {"not_in": ["blue", "green"]}}, {"p1", "p4"}),
        ({"in_stock": False}, {"p3"}),
        ({"brand": "Aquora", "price": {"lte": 50}}, {"p1"}),
    ],
)
def test_filters_hold_for_all_that_is_found(filters, ids):
    with open_shop() as client:
        found = client.post("/search", json={**SWIM, "filters": filters}).json()
    assert {hit["id"] for hit in found["hits"]} == ids


def test_similar_products_leave_out_the_one_itself():
    with open_shop() as client:
        found = client.get("/products/p1/similar", params={"limit": 2}).json()
        assert client.get("/products/none/similar").json()["code"] == "product_not_found"
    assert "p1" not in {hit["id"] for hit in found["hits"]}
    assert [hit["rank"] for hit in found["hits"]] == [1, 2]


def test_readiness_follows_the_age_of_the_index():
    shop = ShopSearcher()
    with open_shop(shop, ready_lag=60) as client:
        assert client.get("/readyz").json()["ready"] is True
        shop.grow_old(61)
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert "61 s old" in answer.json()["reason"]
        # It answers on, from what it has, and says how old that is.
        found = client.post("/search", json=SWIM)
        assert found.status_code == 200
        assert found.json()["lag_seconds"] >= 61
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/status").json()["index_error"] == "LakeError"


def test_an_empty_index_is_not_ready():
    with open_shop(ShopSearcher(())) as client:
        assert client.get("/readyz").json()["reason"] == "the index is empty"


def test_a_failing_sync_is_tried_again_while_requests_are_answered():
    calls = []

    def refresh() -> None:
        calls.append(time.monotonic())
        raise LakeError("the lake is away")

    with open_shop(refresh=refresh, sync_interval=0.02) as client:
        assert client.post("/search", json=SWIM).status_code == 200
        wait_until(lambda: len(calls) > 3, "refreshes", 10)


def test_the_state_of_the_pipeline_is_the_last_good_one():
    answers = iter([{"tables": {"a": 1}}])

    def read_state():
        try:
            return next(answers)
        except StopIteration:
            raise LakeError("away") from None

    with open_shop(read_state=read_state) as client:
        assert client.get("/status").json()["pipeline"] == {"tables": {"a": 1}}
        # Kept for a second.
        assert client.get("/status").json()["pipeline_error"] == ""
        time.sleep(1.1)
        later = client.get("/status").json()
    assert (later["pipeline"], later["pipeline_error"]) == ({"tables": {"a": 1}}, "LakeError")


class SlowSearcher(ShopSearcher):
    """Waits before it searches, as a store or a model may."""

    def __init__(self) -> None:
        super().__init__()
        self.resume = threading.Event()
        self.waiting = 0

    def search(self, query: SearchQuery) -> SearchResult:
        self.waiting += 1
        self.resume.wait(20)
        return super().search(query)


def test_slow_searches_do_not_delay_health_and_do_not_pile_up():
    shop = SlowSearcher()
    with (
        run_server(build_shop_api(shop, concurrency=1, timeout=20)) as address,
        ThreadPoolExecutor(5) as pool,
    ):
        asking = [pool.submit(httpx.post, f"{address}/search", json=SWIM, timeout=30) for _ in range(5)]
        wait_until(lambda: "searches_open 5.0" in httpx.get(f"{address}/metrics").text, "searches", 15)
        for _ in range(5):
            started = time.monotonic()
            assert httpx.get(f"{address}/healthz").status_code == 200
            # The searches wait for as long as the test wants; this is for a busy machine.
            assert time.monotonic() - started < 2
        refused = httpx.post(f"{address}/search", json=SWIM, timeout=30)
        shop.resume.set()
        assert [future.result().status_code for future in asking] == [200] * 5
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert refused.headers["Retry-After"]


def test_a_search_that_takes_too_long_is_given_up():
    shop = SlowSearcher()
    with open_shop(shop, timeout=0.1) as client:
        answer = client.post("/search", json=SWIM)
        shop.resume.set()
    assert (answer.status_code, answer.json()["code"]) == (504, "timeout")


class DownSearcher(ShopSearcher):
    """Its store is away."""

    def search(self, query: SearchQuery) -> SearchResult:
        raise IndexUnavailableError("cannot reach /secret/place/index", hint="look at /secret/place")


@pytest.mark.parametrize("path", ["/search", "/recommend"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_store_that_is_down_is_a_503(path, stream):
    headers = {"Accept": "text/event-stream"} if stream else {}
    with open_shop(DownSearcher(), model=ScriptedLanguageModel()) as client:
        answer = client.post(path, json=SWIM, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (503, "index_unavailable")
    assert "secret" not in answer.text


def test_a_client_that_leaves_ends_the_model_s_work():
    model = ScriptedLanguageModel(says="SwimPro X1 floats [p1]. " * 200, pause=0.02)
    closed = threading.Event()
    inner = model.stream

    async def watched(messages, schema=None):
        try:
            async for part in inner(messages, schema):
                yield part
        finally:
            closed.set()

    model.stream = watched  # type: ignore[method-assign]
    with run_server(build_shop_api(model=model, model_seconds=60)) as address:
        with httpx.stream("POST", f"{address}/recommend", json={**SWIM, "stream": True}) as answer:
            next(answer.iter_lines())
        assert closed.wait(5)


@pytest.mark.parametrize("stream", [False, True])
def test_recommend_says_that_nothing_matches(stream):
    shop = ShopSearcher()
    shop.unmatched = ("car", "insurance", "quote<script>")
    with open_shop(shop, model=ScriptedLanguageModel()) as client:
        answer = client.post("/recommend", json={"query": "car insurance quote", "stream": stream})
    assert answer.status_code == 200
    if stream:
        names = [line for line in answer.text.splitlines() if line.startswith("event: ")]
        assert names == ["event: products", "event: done"]
        assert '"products":[]' in answer.text
        assert '"success":false' in answer.text
        return
    output = answer.json()
    assert (output["success"], output["products"], output["citations"]) == (False, [], [])
    assert output["message"] == "No product matches. Not found: car, insurance, quote."
    assert not output["degraded"]
    with open_shop(shop) as client:
        hits = client.post("/search", json={"query": "car insurance quote"}).json()["hits"]
    assert len(hits) == len(ITEMS)


def test_ids_keep_their_type():
    shop = ShopSearcher([replace(item, id=str(number)) for number, item in enumerate(ITEMS, 1)])
    shop.known = replace(shop.known, has_integer_ids=True)
    with open_shop(shop, model=ScriptedLanguageModel()) as client:
        output = client.post("/recommend", json=SWIM).json()
        hits = client.post("/search", json=SWIM).json()["hits"]
        similar = client.get(f"/products/{output['products'][0]['id']}/similar")
    assert {item["id"] for item in output["products"]} == {1, 2, 3, 4}
    assert {type(item) for item in output["citations"]} == {int}
    assert {hit["id"] for hit in hits} == {1, 2, 3, 4}
    assert similar.status_code == 200
    with open_shop(model=ScriptedLanguageModel()) as client:
        assert {item["id"] for item in client.post("/recommend", json=SWIM).json()["products"]} == {
            "p1",
            "p2",
            "p3",
            "p4",
        }


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("search.acme.example", True),
        ("SEARCH.acme.example:443", True),
        ("a.shop.example:8080", True),
        ("evil.example", False),
        ("shop.example.evil", False),
        ("search.acme.example@evil.example", False),
        ("", False),
    ],
)
def test_only_allowed_hosts_are_answered(host, is_allowed):
    with open_shop(allowed_hosts=("search.acme.example", "*.shop.example")) as client:
        answers = [
            client.get("/healthz", headers={"Host": host}),
            client.post("/search", json=SWIM, headers={"Host": host}),
        ]
        metrics = client.get("/metrics", headers={"Host": "search.acme.example"}).text
    assert [answer.status_code for answer in answers] == [200 if is_allowed else 400] * 2
    if not is_allowed:
        for answer in answers:
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.json()["code"] == "host_not_allowed"
            assert answer.json()["request_id"] == answer.headers["X-Request-Id"]
        assert 'headwater_requests_refused_total{reason="host_not_allowed"} 2.0' in metrics


@pytest.mark.parametrize("host", ["https://acme.example", "acme.example:8080", "*acme.example", ""])
def test_a_host_is_a_name(host):
    with pytest.raises(ValueError, match="is not a host name"):
        ServeConfig(allowed_hosts=(host,))


def test_docs_need_no_other_host():
    with open_shop() as client:
        page = client.get("/docs")
        paths = client.get("/openapi.json").json()["paths"]
    assert page.headers["Content-Type"].startswith("text/html")
    assert all(f" {path}</code>" in page.text for path in paths)
    assert "<script" not in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text


def test_the_threshold_of_a_request_reaches_the_search():
    class Listening(ShopSearcher):
        asked: SearchQuery

        def search(self, query: SearchQuery) -> SearchResult:
            self.asked = query
            return super().search(query)

    shop = Listening()
    with open_shop(shop) as client:
        client.post("/recommend", json={**SWIM, "similarity_threshold": 0.4, "limit": 2}).raise_for_status()
        too_high = client.post("/search", json={**SWIM, "similarity_threshold": 2})
    assert (shop.asked.similarity, shop.asked.limit) == (0.4, 2)
    assert too_high.status_code == 422
