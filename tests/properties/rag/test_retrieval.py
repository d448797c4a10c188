"""Laws of analysis, fusion, understanding and search, on any input."""

import math
from collections.abc import Mapping

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.rag.field_value import FieldValue
from headwater.rag.lexical.analyzer import analyze, fold, list_stems
from headwater.rag.lexical.sparse import SparseEncoder
from headwater.rag.normalising import normalise
from headwater.rag.retrieval.fusion import fuse_distributions, fuse_ranks
from headwater.rag.retrieval.query import SearchQuery
from headwater.rag.retrieval.retriever import Retriever
from headwater.rag.retrieval.understanding import understand
from headwater.rag.vector_stores.conditions import satisfies
from headwater.rag.vector_stores.protocol import IndexCondition
from tests.fixtures.search.filled_index import EMBEDDER, build_points, build_search_index

# Lone surrogates too: a query may come from anywhere.
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)
WORDS = (
    "red",
    "blue",
    "lamp",
    "hose",
    "10",
    "mm",
    "without",
    "not",
    "no",
    "under",
    "50",
    "euros",
    "lapm",
    "t-shirt",
)
QUERIES = st.one_of(ANY_TEXT, st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join))
RANKINGS = st.lists(
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1e6, 1e6), max_size=8).map(
        lambda scores: sorted(scores.items(), key=lambda item: -item[1])
    ),
    min_size=1,
    max_size=4,
)


@given(ANY_TEXT)
@example("A\u0386")
def test_analysis_never_fails_and_ignores_folding(text: str) -> None:
    terms = analyze(text)
    assert list_stems(text) == list_stems(fold(text))
    folded = fold(text)
    for term in terms:
        assert 0 <= term.start < term.end <= len(folded)
        assert term.stem
        assert term.word
    SparseEncoder().encode_passage(text, {"field": text})


@given(ANY_TEXT)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    once.encode("utf-8")


@given(QUERIES)
def test_understanding_never_fails_and_wants_nothing_that_is_not_wanted(query: str) -> None:
    found = understand(query)
    assert found.wanted or found.unwanted or not analyze(query)
    assert found.lowest is None or found.lowest >= 0
    assert found.highest is None or math.isfinite(found.highest)
    assert all(group and len(group) <= 3 for group in found.unwanted)


@given(RANKINGS, st.floats(0.5, 100))
def test_fused_ranks_hold_all_keys_once_best_first(rankings, k: float) -> None:
    fused = fuse_ranks(rankings, k=k)
    assert set(fused) == {key for ranking in rankings for key, _ in ranking}
    assert list(fused.items()) == sorted(fused.items(), key=lambda item: (-item[1], item[0]))


@given(RANKINGS)
def test_the_order_of_lists_does_not_matter(rankings) -> None:
    for fuse in (fuse_ranks, fuse_distributions):
        straight, back = fuse(rankings), fuse(rankings[::-1])
        assert straight.keys() == back.keys()
        assert all(math.isclose(straight[key], back[key], rel_tol=1e-9, abs_tol=1e-9) for key in straight)


@given(RANKINGS, st.sampled_from("abcdefgh"))
def test_to_be_better_in_one_list_never_hurts(rankings, key: str) -> None:
    before = fuse_ranks(rankings)
    raised = [(key, 2e6), *(pair for pair in rankings[0] if pair[0] != key)]
    after = fuse_ranks([raised, *rankings[1:]])
    place = list(after).index(key)
    assert key not in before or place <= list(before).index(key)


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "color": st.sampled_from(["red", "blue"]),
        "price": st.floats(0, 100),
        "in_stock": st.booleans(),
        "tags": st.lists(st.sampled_from(["a", "b"]), max_size=2),
    },
)
CONDITIONS = st.lists(
    st.one_of(
        st.builds(
            IndexCondition, st.just("color"), st.sampled_from(["eq", "ne"]), st.sampled_from(["red", "blue"])
        ),
        st.builds(
            IndexCondition, st.just("price"), st.sampled_from(["lt", "lte", "gt", "gte"]), st.floats(0, 100)
        ),
        st.builds(IndexCondition, st.just("in_stock"), st.sampled_from(["eq", "ne"]), st.booleans()),
        st.builds(IndexCondition, st.just("tags"), st.sampled_from(["in", "not_in"]), st.just(["a"])),
    ),
    max_size=3,
)


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from([f"r{n}" for n in range(12)]), st.tuples(FIELDS, st.sampled_from("xy"))),
    QUERIES,
    CONDITIONS,
    st.sampled_from(["x", "y", None]),
    st.sampled_from([None, 0.0, 0.7]),
)
def test_conditions_and_tenant_hold_for_every_row_found(
    rows: Mapping[str, tuple[Mapping[str, FieldValue], str]],
    text: str,
    conditions: list[IndexCondition],
    tenant: str | None,
    diversity: float | None,
) -> None:
    points = [
        point
        for key, (fields, owner) in rows.items()
        for point in build_points({key: ("Red lamp", "A blue hose of 10 mm.", fields)}, owner)
    ]
    query = SearchQuery(text, 5, conditions, tenant, diversity)
    found = Retriever(build_search_index(points=points), EMBEDDER).search(query).rows
    allowed = {
        key
        for key, (fields, owner) in rows.items()
        if satisfies(conditions, fields, owner) and tenant in (None, owner)
    }
    assert {row.row_key for row in found} <= allowed
    assert len({row.row_key for row in found}) == len(found) <= 5
    if "lamp" in text.split() and "not" not in text and "no" not in text and "without" not in text:
        assert len(found) == min(5, len(allowed))
