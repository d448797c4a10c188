"""The adapter of a Qdrant server sends what the server's API is published to accept, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from headwater.rag.vector_stores.protocol import Checkpoint, IndexCondition
from headwater.rag.vector_stores.qdrant import QdrantStore
from tests.fixtures.search.points import SPEC, chunk_id, make_point, near, words
from tests.fixtures.servers.qdrant.imitation import ANSWERS, run_imitation
from tests.fixtures.servers.qdrant.published_api import find_operation

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect")

QUERY: dict[str, Any] = {"query": [1.0, 0.0], "using": "dense", "limit": 3}


def send(path: str, body: Any, method: str = "POST", parameters: str = "") -> list[str]:
    operation = find_operation(method, path)
    assert operation is not None
    return operation.find_problems(parameters, body)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"limitt": 3}, "limitt"),
        ({"limit": "3"}, "'3'"),
        ({"limit": 0}, "limit: 0"),
        ({"filter": {"must": [{"key": "a", "range": {"ltt": 1}}]}}, "filter"),
        ({"filter": {"must": [{"key": "a", "match": {"value": 1.5}}]}}, "filter"),
        ({"query": {"nearest": {"indices": [-1], "values": [1.0]}}}, "query"),
    ],
)
def test_a_field_that_the_api_does_not_have_is_noticed(change: dict[str, Any], problem: str) -> None:
    path = "/collections/shop/points/query/batch"
    assert send(path, {"searches": [QUERY]}) == []
    (found, *_) = send(path, {"searches": [{**QUERY, **change}]})
    assert problem in found


def test_paths_and_parameters_are_compared_too() -> None:
    assert find_operation("POST", "/collections/shop/points/searches") is None
    assert find_operation("PATCH", "/collections/shop") is None
    assert send("/collections/shop/points/count", {"exact": True}, parameters="timeout=30") == []
    assert send("/collections/shop/points/count", {"exact": True}, parameters="wait=true") != []
    assert send("/aliases", {}, "GET") != []


def test_every_operation_of_the_adapter_is_as_published() -> None:
    with run_imitation() as server:
        store = QdrantStore.connect(server.url, "shop", api_key=None, prefer_grpc=False)
        for version in ("v1", "v2"):
            index = store.create(version, SPEC)
            index.upsert([make_point("a", (1,), {1: 1.0}, color="red", price=9.5, in_stock=True, tags=["x"])])
        index.set_fields([replace(make_point("a", color="blue"), tenant="t")])
        conditions = [
            IndexCondition("color", "in", ["red", "blue"]),
            IndexCondition("price", "lt", 10),
            IndexCondition("in_stock", "ne", True),
            IndexCondition("tenant", "eq", "t"),
            IndexCondition("tags", "in", []),
        ]
        assert index.search([near(1, conditions=conditions), words(1, conditions=conditions)]) == [[], []]
        assert len(index.load(["a"])) == len(list(index.iter_states())) == index.count() == 1
        first, second = (Checkpoint(f"p{number}", number, "2026-01-01T00:00:00Z") for number in (1, 2))
        assert index.write_checkpoint(first, None)
        assert index.write_checkpoint(second, first)
        index.delete([chunk_id("a")])
        store.set_live("v1")
        store.set_live("v2")
        store.drop(["v1"])
        store.close()
    assert {tuple(name.split(" ", 1)) for name in server.requests} == set(ANSWERS)
