"""A whole search on a small shop."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.search.costly_queries import build_costly_queries
from headwater.config.search.index import EmbedderConfig
from headwater.config.search.retrieval import RetrievalConfig
from headwater.errors import SearchError
from headwater.rag.embedding import build_embedder
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.retrieval.query import SearchQuery, SearchResult
from headwater.rag.retrieval.retriever import Retriever
from headwater.rag.retrieval.spelling import MAX_MISSPELT
from headwater.rag.retrieval.understanding import MAX_WORDS
from headwater.rag.vector_stores.memory import MemoryIndex
from headwater.rag.vector_stores.protocol import IndexCondition, PassageHit, SearchRequest
from tests.fixtures.search.filled_index import EMBEDDER, Row, build_points, build_search_index

SHOP: Mapping[str, Row] = {
    "red lamp": ("Lumo desk lamp", "Comes in red. With cable.", {"color": "red", "price": 20.0}),
    "blue lamp": ("Lumo desk lamp", "Comes in blue. Also sold in red.", {"color": "blue", "price": 90.0}),
    "bare lamp": ("Orbis desk lamp", "No cable, charges itself.", {"color": "green", "price": 60.0}),
    "lamp bulb": ("Bulb for any desk lamp", "Fits each desk lamp, in red.", {"color": "red", "price": 3.0}),
    "kettle": (
        "Brasero kettle",
        "Boils water. The desk lamp is not part of it.",
        {"color": "red", "price": 35.0},
    ),
    "small hose": ("Garden hose 10 m", "Rubber.", {"price": 15.0}),
    "long hose": ("Garden hose 25m", "Rubber.", {"price": 30.0}),
}


class CountingIndex:
    """What was asked of the index."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self.rounds: list[list[SearchRequest]] = []

    def __getattr__(self, name: str):
        return getattr(self._index, name)

    def search(self, requests: Sequence[SearchRequest]) -> list[list[PassageHit]]:
        self.rounds.append(list(requests))
        return self._index.search(requests)


@pytest.fixture
def index() -> CountingIndex:
    return CountingIndex(build_search_index(SHOP))


@pytest.fixture
def retriever(index: CountingIndex) -> Retriever:
    return Retriever(index, EMBEDDER, version="v1", as_of=lambda: "20260101000000000")


def keys(result: SearchResult) -> list[str]:
    return [row.row_key for row in result.rows]


def test_result_describes_rows_and_index(retriever: Retriever) -> None:
    result = retriever.search(SearchQuery("brasero kettles"))
    row = result.rows[0]
    assert (row.row_key, row.rank, row.instant) == ("kettle", 1, "20260101000000000")
    assert row.matched_terms == ("brasero", "kettle")
    assert row.fields["price"] == 35.0
    assert (result.index_version, result.as_of) == ("v1", "20260101000000000")
    assert [row.rank for row in result.rows] == list(range(1, len(result.rows) + 1))
    assert [row.score for row in result.rows] == sorted((row.score for row in result.rows), reverse=True)


def test_both_legs_are_asked_in_one_round(retriever: Retriever, index: CountingIndex) -> None:
    retriever.search(SearchQuery("desk lamp"))
    assert [[request.using for request in requests] for requests in index.rounds] == [["dense", "words"]]


def test_product_ranks_before_accessories_and_mentions(retriever: Retriever) -> None:
    found = keys(retriever.search(SearchQuery("desk lamp")))
    assert set(found[:3]) == {"red lamp", "blue lamp", "bare lamp"}


def test_a_field_decides_over_a_mention(retriever: Retriever) -> None:
    assert keys(retriever.search(SearchQuery("red desk lamp")))[0] == "red lamp"
    assert keys(retriever.search(SearchQuery("blue desk lamp")))[0] == "blue lamp"


def test_unwanted_rows_rank_lower_but_are_not_hidden(retriever: Retriever) -> None:
    result = retriever.search(SearchQuery("desk lamp without cable"))
    assert keys(result)[0] == "bare lamp"
    assert keys(result).index("red lamp") > keys(result).index("blue lamp")
    assert result.understood == {"not wanted": "cabl"}
    blue_first = keys(retriever.search(SearchQuery("lumo desk lamp not red")))
    assert blue_first[0] == "blue lamp"


def test_prices_order_but_do_not_hide(retriever: Retriever) -> None:
    assert keys(retriever.search(SearchQuery("desk lamp over 80 euros")))[0] == "blue lamp"
    assert keys(retriever.search(SearchQuery("lumo desk lamp under 50")))[0] == "red lamp"
    assert keys(retriever.search(SearchQuery("cheap lumo lamp")))[0] == "red lamp"
    assert keys(retriever.search(SearchQuery("kettle under 10")))[0] == "kettle"


def test_mistyped_word_is_corrected_and_reported(retriever: Retriever, index: CountingIndex) -> None:
    result = retriever.search(SearchQuery("brasreo kettel"))
    assert keys(result)[0] == "kettle"
    assert result.understood == {"spelling of brasreo": "brasero", "spelling of kettel": "kettle"}
    assert [len(requests) for requests in index.rounds] == [2, 1, 2]


def test_learnt_words_correct_in_one_round_to_the_same_answer(
    retriever: Retriever, index: CountingIndex
) -> None:
    text = "brasreo kettel"
    long_way = retriever.search(SearchQuery(text))
    index.rounds.clear()
    retriever.learn_words()
    assert retriever.search(SearchQuery(text)) == long_way
    assert [len(requests) for requests in index.rounds] == [2]


def test_a_row_that_came_after_the_words_were_learnt_is_found_by_its_words(
    retriever: Retriever, index: CountingIndex
) -> None:
    retriever.learn_words()
    index.upsert(build_points({"new": ("Zorbex kettlo", "Never heard of.", {})}))
    result = retriever.search(SearchQuery("kettlo"))
    assert (keys(result)[0], result.understood) == ("new", {})


def test_a_learnt_word_whose_rows_went_corrects_nothing(retriever: Retriever, index: CountingIndex) -> None:
    retriever.learn_words()
    index.delete([point.chunk_id for point in build_points({"kettle": SHOP["kettle"]})])
    assert retriever.search(SearchQuery("kettel")).understood == {}


def test_word_of_another_tenant_is_never_exposed(index: CountingIndex) -> None:
    index.upsert(build_points({"theirs": ("Zorbex", "Secret.", {})}, tenant="them"))
    index.upsert(build_points({"mine": ("Desk lamp", "Ours.", {})}, tenant="me"))
    retriever = Retriever(index, EMBEDDER)
    retriever.learn_words()
    assert retriever.search(SearchQuery("zorbxe", tenant="them")).understood == {
        "spelling of zorbxe": "zorbex"
    }
    assert retriever.search(SearchQuery("zorbxe", tenant="me")).understood == {}


def test_of_words_as_near_their_neighbours_decide(index: CountingIndex) -> None:
    index.upsert(
        build_points(
            {
                "plush": ("Plush cat bed", "Soft.", {}),
                "push": ("Push mower", "For lawns.", {}),
                "pushes": ("Push cart", "For loads.", {}),
            }
        )
    )
    retriever = Retriever(index, EMBEDDER)
    retriever.learn_words()
    result = retriever.search(SearchQuery("psush cat bed"))
    assert result == Retriever(index, EMBEDDER).search(SearchQuery("psush cat bed"))


def test_a_right_word_that_the_shop_does_not_know_is_not_corrected(retriever: Retriever) -> None:
    # One letter away from "hose".
    assert retriever.search(SearchQuery("nose")).understood == {}


@pytest.mark.parametrize("learnt", [False, True])
def test_a_query_of_many_unknown_words_is_not_corrected(
    retriever: Retriever, index: CountingIndex, learnt: bool
) -> None:
    if learnt:
        retriever.learn_words()
    typos = ["brasreo", "kettel", "cabel", "boilz", "ruber"]
    result = retriever.search(SearchQuery(" ".join(typos[:4])))
    assert result.understood["spelling of kettel"] == "kettle"
    index.rounds.clear()
    assert retriever.search(SearchQuery(" ".join(typos))).understood == {}
    assert [len(requests) for requests in index.rounds] == [2]


@pytest.mark.parametrize("kind", sorted(build_costly_queries(["lamp"], 0)))
def test_no_query_costs_more_than_its_first_words(index: CountingIndex, kind: str) -> None:
    retriever = Retriever(index, EMBEDDER)
    retriever.learn_words()
    words = sorted({word for row in index.iter_passages() for word in row.list_words() if len(word) > 4})
    for text in build_costly_queries(words, 3)[kind]:
        index.rounds.clear()
        _, reading, corrections = retriever.gather(SearchQuery(text))
        # Each word, each unwanted group and each correction is compared with all candidates.
        assert len({term.word for term in reading.wanted}) <= MAX_WORDS
        assert len(reading.wanted) <= 2 * MAX_WORDS
        assert len(reading.understanding.unwanted) <= 4
        assert len(corrections) <= MAX_MISSPELT
        assert sum(map(len, index.rounds)) <= 2 + 2 + 1 + 2
        asked = [request.vector for requests in index.rounds for request in requests]
        stems = [len(vector.indices) for vector in asked if isinstance(vector, SparseVector)]
        assert max(stems, default=0) <= 8 * 2 * MAX_WORDS + MAX_MISSPELT * 64


def test_correction_can_be_switched_off(index: CountingIndex) -> None:
    plain = Retriever(index, EMBEDDER, RetrievalConfig(correct_spelling=False))
    assert plain.search(SearchQuery("kettel")).understood == {}
    assert len(index.rounds) == 1


def test_a_new_row_can_be_found_by_its_words_at_once(retriever: Retriever, index: CountingIndex) -> None:
    index.upsert(build_points({"new": ("Zorbex kettlo", "Never heard of.", {})}))
    result = retriever.search(SearchQuery("kettlo"))
    assert (keys(result)[0], result.understood) == ("new", {})


def test_measures_are_found_however_they_are_written(retriever: Retriever) -> None:
    assert keys(retriever.search(SearchQuery("hose 25 metres")))[0] == "long hose"
    assert keys(retriever.search(SearchQuery("10m hose")))[0] == "small hose"


def test_explicit_conditions_hold_for_every_row(retriever: Retriever) -> None:
    query = SearchQuery(
        "desk lamp", conditions=[IndexCondition("color", "eq", "red"), IndexCondition("price", "lt", 30)]
    )
    assert set(keys(retriever.search(query))) == {"red lamp", "lamp bulb"}


def test_a_tenant_is_asked_for_inside_every_request(index: CountingIndex) -> None:
    index.upsert(build_points({"mine": ("Desk lamp", "Ours.", {})}, tenant="me"))
    result = Retriever(index, EMBEDDER).search(SearchQuery("desk lmap", tenant="me", diversity=0.5))
    assert keys(result) == ["mine"]
    assert len(index.rounds) == 3
    for requests in index.rounds:
        assert all(IndexCondition("tenant", "eq", "me") in request.conditions for request in requests)


@pytest.mark.parametrize("text", ["", "   ", "???", "\x00", "\U0001f600"])
def test_a_query_without_words_finds_nothing(retriever: Retriever, index: CountingIndex, text: str) -> None:
    assert retriever.search(SearchQuery(text)).rows == ()
    assert index.rounds == []


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "lamp " * 5_000, "\ud800 lamp", "'; drop table --", "{}[]()*+?^$|\\"]
)
def test_hostile_queries_do_no_harm(retriever: Retriever, text: str) -> None:
    assert len(retriever.search(SearchQuery(text, limit=3)).rows) <= 3


@pytest.mark.parametrize("ranking", ["rrf", "dbsf"])
def test_plain_fusions_can_be_chosen(index: CountingIndex, ranking: str) -> None:
    config = RetrievalConfig.model_validate({"ranking": ranking})
    found = keys(Retriever(index, EMBEDDER, config).search(SearchQuery("brasero kettle")))
    assert found[0] == "kettle"


def test_weights_of_a_fusion_count(index: CountingIndex) -> None:
    def first(dense: float, words: float) -> list[str]:
        config = RetrievalConfig(ranking="rrf", dense_weight=dense, words_weight=words, rrf_k=1)
        return keys(Retriever(index, EMBEDDER, config).search(SearchQuery("fits rubber")))

    only_words = index.search(
        [SearchRequest("dense", EMBEDDER.embed_queries(["fits rubber"])[0].tolist(), 10)]
    )
    assert first(1, 0) == [hit.passage.row_key for hit in only_words[0]]
    assert first(0, 1)[:3] != first(1, 0)[:3]


def test_diversity_brings_unlike_rows(retriever: Retriever) -> None:
    alike = keys(retriever.search(SearchQuery("red lumo desk lamp", limit=2, diversity=0.0)))
    unlike = keys(retriever.search(SearchQuery("red lumo desk lamp", limit=2, diversity=0.9)))
    assert alike == keys(retriever.search(SearchQuery("red lumo desk lamp", limit=2)))
    assert unlike[0] == alike[0] == "red lamp"
    assert unlike[1] != alike[1]


class Backwards:
    """Likes what stands last."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [-float("kettle" not in text) for text in texts]


def test_a_cross_encoder_reads_the_best_rows_again(index: CountingIndex) -> None:
    config = RetrievalConfig.model_validate({"rerank": {"depth": 5, "budget": 60}})
    found = Retriever(index, EMBEDDER, config, reranker=Backwards()).search(SearchQuery("desk lamp"))
    assert keys(found)[0] == "kettle"
    assert [row.score for row in found.rows] == sorted((row.score for row in found.rows), reverse=True)


@pytest.mark.parametrize(("limit", "count"), [(-1, 0), (0, 0), (1, 1), (1_000, len(SHOP))])
@pytest.mark.parametrize("diversity", [None, -1.0, 2.0])
def test_any_limit_is_kept(retriever: Retriever, limit: int, count: int, diversity: float | None) -> None:
    found = retriever.search(SearchQuery("desk lamp", limit=limit, diversity=diversity))
    assert len(found.rows) == count


def test_an_index_of_another_model_is_refused() -> None:
    other = build_embedder(EmbedderConfig(type="hashing", dimensions=64), {})
    with pytest.raises(SearchError, match=r"256.*64"):
        Retriever(build_search_index(SHOP), other)


def test_another_commit_than_the_indexs_is_refused(retriever: Retriever) -> None:
    assert retriever.search(SearchQuery("lamp", as_of="20260101000000000")).rows
    with pytest.raises(SearchError, match="20250101000000000"):
        retriever.search(SearchQuery("lamp", as_of="20250101000000000"))


def test_many_threads_get_the_same_answers(retriever: Retriever) -> None:
    queries = ["red desk lamp", "kettel", "hose 25 m", "desk lamp without cable"] * 10
    expected = [keys(retriever.search(SearchQuery(text))) for text in queries]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: keys(retriever.search(SearchQuery(text))), queries)) == expected


def test_rows_below_the_requested_similarity_are_omitted():
    index = build_search_index({"p1": ("Swim headphones", "For laps.", {}), "p2": ("Mug", "Steel mug.", {})})
    retriever = Retriever(index, EMBEDDER)
    everything = retriever.search(SearchQuery("swim headphones"))
    assert {row.row_key for row in everything.rows} == {"p1", "p2"}
    near = retriever.search(SearchQuery("swim headphones", similarity=0.3))
    assert [row.row_key for row in near.rows] == ["p1"]
    assert near.is_answerable
    none = retriever.search(SearchQuery("swim headphones", similarity=1.0))
    assert (list(none.rows), none.is_answerable) == ([], False)
