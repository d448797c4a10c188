"""What every vector store does, run on every one of them."""

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwater.errors import IndexNotFoundError, SearchError
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.vector_stores.protocol import (
    Checkpoint,
    Index,
    IndexCondition,
    Operator,
    SearchRequest,
    VectorStore,
    VersionState,
)
from headwater.rag.vector_stores.qdrant_edge import index as edge_index
from tests.fixtures.search.points import SPEC, axis, chunk_id, find, keys, make_point, near, words
from tests.fixtures.search.stores import SERVER_VARIABLE, STORES

# The client's imitation of a server says so of what the server's adapter rightly asks for.
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect")


@pytest.mark.skipif("server" in STORES, reason="it is")
def test_a_server_is_asked_only_where_there_is_one() -> None:
    pytest.skip(f"no Qdrant server: set {SERVER_VARIABLE} to run all of this on one")


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    with STORES[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture
def index(store: VectorStore) -> Index:
    return store.create("v1", SPEC)


def test_dense_vectors_are_found_nearest_first(index: Index) -> None:
    index.upsert([make_point("a", (1, 0)), make_point("b", (1, 1)), make_point("c", (0, 1))])
    assert find(index, near(1, 0.1)) == ["a", "b", "c"]
    assert find(index, near(0.1, 1)) == ["c", "b", "a"]


def test_hit_contains_all_of_its_point(index: Index) -> None:
    index.upsert([make_point("a", (1,), number=3, color="red", price=9.5, in_stock=True, tags=["x", "y"])])
    (hit,) = index.search([near(1)])[0]
    assert (hit.passage.chunk_id, hit.passage.row_key, hit.passage.chunk_number) == (chunk_id("a", 3), "a", 3)
    assert (hit.passage.text, hit.passage.stems, hit.passage.instant) == (
        "text of a/3",
        "stems of a",
        "20260101000000000",
    )
    assert dict(hit.passage.fields) == {"color": "red", "price": 9.5, "in_stock": True, "tags": ["x", "y"]}


def test_at_most_the_limit_is_found(index: Index) -> None:
    index.upsert([make_point(f"r{number:02}", (1, number / 10)) for number in range(20)])
    assert find(index, near(1, limit=3)) == ["r00", "r01", "r02"]


def test_equal_scores_come_in_the_order_of_row_keys(index: Index) -> None:
    names = [f"r{number:02}" for number in range(30)]
    index.upsert([make_point(name, (1, 1), {7: 1.0}) for name in reversed(names)])
    assert find(index, near(1, 1, limit=10)) == names[:10]
    assert find(index, words(7, limit=10)) == names[:10]


def test_rows_that_tie_by_hundreds_do_not_make_the_answer_longer(index: Index) -> None:
    index.upsert([make_point(f"r{number:03}", (1, 1), {7: 1.0}) for number in range(300)])
    index.upsert([make_point("best", (1, 0), {7: 2.0})])
    for legs in ([near(1, 0, limit=50)], [words(7, limit=50)]):
        (found,) = index.search(legs)
        assert len({hit.passage.row_key for hit in found}) == len(found) == 50
        assert found[0].passage.row_key == "best"


def test_a_row_is_found_once_by_its_best_chunk(index: Index) -> None:
    index.upsert([make_point("a", (1, number), {1: 1.0 + number}, number=number) for number in range(9)])
    index.upsert([make_point("b", (1, 0.5), {1: 0.1})])
    dense, sparse = index.search([near(1, 0, limit=2), words(1, limit=2)])
    assert [(hit.passage.row_key, hit.passage.chunk_number) for hit in dense] == [("a", 0), ("b", 0)]
    assert [(hit.passage.row_key, hit.passage.chunk_number) for hit in sparse] == [("a", 8), ("b", 0)]


def test_sparse_scores_weigh_terms_with_their_idf(index: Index) -> None:
    # 1 is everywhere, 2 is rare: a little of 2 is worth more than much of 1.
    index.upsert([make_point(f"common{number}", words={1: 1.0}) for number in range(9)])
    index.upsert([make_point("rare", words={2: 0.5}), make_point("both", words={1: 1.0, 2: 0.5})])
    hits = index.search([words(1, 2, limit=20)])[0]
    assert keys(hits)[:3] == ["both", "rare", "common0"]
    idf = {term: math.log(1 + (11 - n + 0.5) / (n + 0.5)) for term, n in ((1, 10), (2, 2))}
    assert hits[1].score == pytest.approx(0.5 * idf[2], rel=1e-3)
    assert hits[0].score == pytest.approx(0.5 * idf[2] + idf[1], rel=1e-3)


def test_idf_reflects_deletions(index: Index, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.params["store"] in {"edge", "server"}:
        pytest.skip("Qdrant's IDF counts removed points until it has vacuumed them")
    index.upsert([make_point(f"p{number}", words={1: 1.0}) for number in range(20)])
    index.upsert([make_point("q", words={2: 1.0}), make_point("r", words={1: 1.0, 2: 0.1})])
    assert find(index, words(1, 2, limit=1)) == ["q"]
    index.delete([chunk_id(f"p{number}") for number in range(20)])
    # 1 has become rarer than 2.
    assert find(index, words(1, 2, limit=1)) == ["r"]


def test_query_weights_count(index: Index) -> None:
    index.upsert([make_point("a", words={1: 1.0}), make_point("b", words={2: 1.0})])
    request = SearchRequest("words", SparseVector((1, 2), (1.0, 3.0)), 10)
    assert find(index, request) == ["b", "a"]


def test_points_without_a_common_term_are_not_found(index: Index) -> None:
    index.upsert([make_point("a", words={1: 1.0}), make_point("b", words={2: 1.0}), make_point("c")])
    assert find(index, words(1)) == ["a"]
    assert find(index, words(99)) == []


def test_sparse_vectors_of_different_names_are_apart(index: Index) -> None:
    both = {"words": SparseVector((1,), (1.0,)), "trigrams": SparseVector((2,), (1.0,))}
    index.upsert([replace(make_point("a"), sparse=both)])
    assert find(index, words(2)) == []
    assert find(index, SearchRequest("trigrams", SparseVector((2,), (1.0,)), 10)) == ["a"]


def test_legs_are_answered_in_their_order(index: Index) -> None:
    index.upsert([make_point("a", (1, 0), {1: 1.0}), make_point("b", (0, 1), {2: 1.0})])
    found = index.search([near(0, 1, limit=1), words(1), near(1, 0, limit=1), words(5)])
    assert [keys(hits) for hits in found] == [["b"], ["a"], ["a"], []]
    assert index.search([]) == []


FIELDS: Mapping[str, dict[str, Any]] = {
    "red": {"color": "red", "price": 10, "in_stock": True, "tags": ["x", "y"]},
    "blue": {"color": "blue", "price": 20.5, "in_stock": False, "tags": ["y"]},
    "none": {},
}


@pytest.mark.parametrize(
    ("field", "operator", "value", "expected"),
    [
        ("color", "eq", "red", {"red"}),
        ("color", "ne", "red", {"blue", "none"}),
        ("color", "in", ["red", "blue"], {"red", "blue"}),
        ("color", "in", [], set()),
        ("color", "not_in", ["red"], {"blue", "none"}),
        ("color", "not_in", [], {"red", "blue", "none"}),
        ("price", "lt", 20.5, {"red"}),
        ("price", "lte", 20.5, {"red", "blue"}),
        ("price", "gt", 10, {"blue"}),
        ("price", "gte", 10, {"red", "blue"}),
        ("price", "eq", 10, {"red"}),
        ("price", "in", [10, 30], {"red"}),
        ("in_stock", "eq", True, {"red"}),
        ("in_stock", "ne", True, {"blue", "none"}),
        ("tags", "eq", "y", {"red", "blue"}),
        ("tags", "in", ["x", "z"], {"red"}),
        ("tags", "ne", "x", {"blue", "none"}),
        ("tags", "not_in", ["x", "y"], {"none"}),
        ("color", "eq", "green", set()),
    ],
)
def test_conditions_hold_for_every_hit(
    index: Index,
    field: str,
    operator: Operator,
    value: str | float | bool | list[str | int | float | bool],
    expected: set[str],
) -> None:
    index.upsert([make_point(row, (1,), {1: 1.0}, **fields) for row, fields in FIELDS.items()])
    conditions = [IndexCondition(field, operator, value)]
    dense, sparse = index.search([near(1, conditions=conditions), words(1, conditions=conditions)])
    assert set(keys(dense)) == set(keys(sparse)) == expected


def test_all_conditions_must_hold(index: Index) -> None:
    index.upsert([make_point(row, (1,), **fields) for row, fields in FIELDS.items()])
    between = [
        IndexCondition("price", "gt", 5),
        IndexCondition("price", "lt", 15),
        IndexCondition("tags", "eq", "y"),
    ]
    assert find(index, near(1, conditions=between)) == ["red"]


def test_conditions_are_applied_before_the_limit(index: Index) -> None:
    index.upsert([make_point(f"near{number:03}", (1,), color="blue") for number in range(150)])
    index.upsert([make_point("far", (0.1, 1), color="red")])
    assert find(index, near(1, limit=5, conditions=[IndexCondition("color", "eq", "red")])) == ["far"]


def test_another_tenants_points_are_never_found(index: Index) -> None:
    index.upsert([make_point("mine", (0.1, 1), {1: 0.1}, tenant="a")])
    index.upsert([make_point(f"theirs{n}", (1,), {1: 1.0}, tenant="b") for n in range(50)])
    index.upsert([make_point("nobodys", (1,), {1: 1.0})])
    conditions = [IndexCondition("tenant", "eq", "a")]
    dense, sparse = index.search([near(1, conditions=conditions), words(1, conditions=conditions)])
    assert keys(dense) == keys(sparse) == ["mine"]


def test_upsert_replaces_all_of_a_point(index: Index) -> None:
    index.upsert([make_point("a", (1, 0), {1: 1.0}, color="red")])
    index.upsert([replace(make_point("a", (0, 1), {2: 1.0}, price=3), text="new")])
    assert index.count() == 1
    assert find(index, words(1)) == []
    (hit,) = index.search([words(2)])[0]
    assert (hit.passage.text, dict(hit.passage.fields)) == ("new", {"price": 3})
    (point,) = index.load(["a"])
    assert list(point.dense) == pytest.approx(axis(0, 1), abs=1e-6)


def test_set_fields_keeps_text_and_vectors(index: Index) -> None:
    index.upsert([make_point("a", (1, 0), {1: 1.0}, color="red", price=1)])
    changed = replace(
        make_point("a", (0, 1), {2: 1.0}, price=2), text="not written", stems="not written",
        fields_hash="f2", instant="20260202000000000", tenant="t",
    )  # fmt: skip
    index.set_fields([changed, make_point("absent")])
    (hit,) = index.search([words(1)])[0]
    assert (hit.passage.text, dict(hit.passage.fields), hit.passage.instant) == (
        "text of a/0",
        {"price": 2},
        "20260202000000000",
    )
    assert hit.passage.stems == "stems of a"
    assert [state.fields_hash for state in index.iter_states()] == ["f2"]
    assert find(index, words(1, conditions=[IndexCondition("tenant", "eq", "t")])) == ["a"]
    (point,) = index.load(["a"])
    assert list(point.dense) == pytest.approx(axis(1, 0), abs=1e-6)
    assert index.count() == 1


def test_deleted_points_are_not_found(index: Index) -> None:
    index.upsert([make_point("a", (1,), {1: 1.0}), make_point("b", (1,), {1: 1.0})])
    index.delete([chunk_id("a"), chunk_id("never there")])
    index.delete([chunk_id("a")])
    assert index.search([near(1), words(1)])[0][0].passage.row_key == "b"
    assert find(index, words(1)) == ["b"]
    assert (index.count(), index.load(["a"])) == (1, [])


def test_points_come_and_go_again_and_again(index: Index) -> None:
    for turn in range(5):
        index.upsert([make_point(f"r{number}", (1, turn), {turn: 1.0}) for number in range(40)])
        index.delete([chunk_id(f"r{number}") for number in range(0, 40, 2)])
        assert index.count() == 20
        assert len(find(index, words(turn, limit=40))) == 20


def test_load_returns_written_points(index: Index) -> None:
    points = [
        make_point("a", (1, 2), {5: 1.5, 3: 0.5}, number=number, tenant="t", color="red", tags=["x"], n=None)
        for number in range(2)
    ]
    index.upsert([*points, make_point("b")])
    loaded = sorted(index.load(["a", "absent"]), key=lambda point: point.chunk_number)
    for point, written in zip(loaded, points, strict=True):
        assert list(point.dense) == pytest.approx(list(written.dense), abs=1e-6)
        vector = point.sparse["words"]
        found = dict(zip(vector.indices, vector.values, strict=True))
        assert found == pytest.approx({5: 1.5, 3: 0.5})
        fields = {name: value for name, value in point.fields.items() if value is not None}
        assert fields == {"color": "red", "tags": ["x"]}
        bare = replace(point, dense=(), sparse={}, fields={})
        assert bare == replace(written, dense=(), sparse={}, fields={})


def test_states_and_texts_are_of_all_points(index: Index) -> None:
    points = [make_point(f"r{number}", number=number % 3) for number in range(300)]
    index.upsert(points)
    states = list(index.iter_states())
    assert [state.chunk_id for state in states] == sorted(point.chunk_id for point in points)
    assert {(state.row_key, state.content_hash, state.fields_hash) for state in states} == {
        (point.row_key, point.content_hash, point.fields_hash) for point in points
    }
    passages = {one.chunk_id: (one.row_key, one.text, one.fields) for one in index.iter_passages()}
    assert passages == {one.chunk_id: (one.row_key, one.text, one.fields) for one in points}


def test_a_vector_of_another_length_is_refused(index: Index) -> None:
    with pytest.raises(SearchError, match="8"):
        index.upsert([replace(make_point("a"), dense=[1.0, 0.0])])
    assert index.count() == 0
    with pytest.raises(SearchError):
        index.search([SearchRequest("dense", [1.0, 0.0], 1)])


def test_the_checkpoint_is_written_only_over_the_expected_one(index: Index) -> None:
    first, second = Checkpoint("p1", 1, "2026-01-01T00:00:00Z"), Checkpoint("p2", 2, "2026-01-01T00:00:01Z")
    assert index.read_checkpoint() is None
    assert index.write_checkpoint(first, None)
    assert not index.write_checkpoint(second, None)
    assert index.read_checkpoint() == first
    assert index.write_checkpoint(second, first)
    assert not index.write_checkpoint(second, first)
    assert index.read_checkpoint() == second


def test_the_checkpoint_is_no_point(index: Index) -> None:
    index.upsert([make_point("a", (1,), {1: 1.0})])
    index.write_checkpoint(Checkpoint("p1", 1, "2026-01-01T00:00:00Z"), None)
    assert index.count() == 1
    assert (len(list(index.iter_states())), len(list(index.iter_passages()))) == (1, 1)
    assert [keys(hits) for hits in index.search([near(1), words(1)])] == [["a"], ["a"]]


def test_versions_coexist_and_one_is_live(store: VectorStore) -> None:
    assert (store.list_versions(), store.find_live()) == ([], None)
    one, two = store.create("v1", SPEC), store.create("v2", replace(SPEC, fingerprint="f2"))
    one.upsert([make_point("a")])
    two.upsert([make_point("b"), make_point("c")])
    one.write_checkpoint(Checkpoint("p", 1, "2026-01-01T00:00:00Z"), None)
    assert store.list_versions() == ["v1", "v2"]
    assert (store.open("v1").count(), store.open("v2").count()) == (1, 2)
    assert store.open("v2").read_checkpoint() is None
    assert store.find_live() is None
    store.set_live("v1")
    assert store.find_live() == "v1"
    store.set_live("v2")
    assert store.find_live() == "v2"


def test_state_of_a_version_is_read_open_or_released(store: VectorStore) -> None:
    index = store.create("v1", SPEC)
    assert store.read_state("v1") == VersionState(SPEC, None, 0)
    index.upsert([make_point("a"), make_point("b")])
    checkpoint = Checkpoint("p", 1, "2026-01-01T00:00:00Z")
    index.write_checkpoint(checkpoint, None)
    assert store.read_state("v1") == VersionState(SPEC, checkpoint, 2)
    store.release("v1")
    assert store.read_state("v1") == VersionState(SPEC, checkpoint, 2)
    assert store.open("v1").count() == 2
    with pytest.raises(IndexNotFoundError, match="v7"):
        store.read_state("v7")


def test_a_version_is_opened_again_only_for_the_same(store: VectorStore) -> None:
    store.create("v1", SPEC).upsert([make_point("a")])
    assert store.create("v1", SPEC).count() == 1
    assert store.open("v1").spec == SPEC
    with pytest.raises(SearchError, match="v1"):
        store.create("v1", replace(SPEC, fingerprint="another"))


def test_the_live_version_cannot_be_dropped(store: VectorStore) -> None:
    for name in ("v1", "v2", "v3"):
        store.create(name, SPEC)
    store.set_live("v2")
    with pytest.raises(SearchError, match="v2"):
        store.drop(["v1", "v2"])
    assert store.list_versions() == ["v1", "v2", "v3"]
    store.drop(["v1", "v3", "v9"])
    assert store.list_versions() == ["v2"]


def test_a_version_that_is_not_there_is_named(store: VectorStore) -> None:
    with pytest.raises(IndexNotFoundError, match="v7"):
        store.open("v7")
    with pytest.raises(IndexNotFoundError, match="v7"):
        store.set_live("v7")


def test_searches_and_writes_at_the_same_time(index: Index, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.params["store"] in {"client", "wire"}:
        pytest.skip("the client's imitation of a server is for one thread")

    def write(number: int) -> None:
        index.upsert([make_point(f"r{number}-{turn}", (1, turn), {1: 1.0}) for turn in range(5)])
        index.delete([chunk_id(f"r{number}-0")])

    def search(_: int) -> None:
        for hits in index.search([near(1, limit=50), words(1, limit=50)]):
            assert len(set(keys(hits))) == len(hits)

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(task, n) for n in range(20) for task in (write, search)]:
            future.result()
    assert index.count() == 80


def test_exact_neighbours_among_many(index: Index) -> None:
    generator = np.random.default_rng(5)
    vectors = generator.normal(size=(500, 8))
    index.upsert([make_point(f"r{number:03}", vector.tolist()) for number, vector in enumerate(vectors)])
    query = generator.normal(size=8)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1)
    expected = [f"r{number:03}" for number in np.argsort(-cosines)[:10]]
    assert find(index, near(*query.tolist())) == expected


def test_searches_are_the_same_when_they_are_faster(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_index, "OPTIMIZE_AFTER", 1)
    weights = [(f"r{number:03}", number / 100) for number in range(300)]
    index.upsert([make_point(name, (1, weight), {1: 1.0 + weight}) for name, weight in weights])
    before = [find(index, near(1, 0.5, limit=20)), find(index, words(1, limit=20))]
    index.optimize()
    index.upsert([make_point("new", (0, 0, 1), {2: 1.0})])
    index.delete([chunk_id("r100")])
    assert [find(index, near(1, 0.5, limit=20)), find(index, words(1, limit=20))] == before
    assert find(index, near(0, 0, 1, limit=1)) == find(index, words(2)) == ["new"]
    assert index.count() == 300
