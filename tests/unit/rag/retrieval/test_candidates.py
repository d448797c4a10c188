import random

from headwater.rag.retrieval.candidates import AllStems, gather, widen
from headwater.rag.vector_stores.protocol import PassageHit
from tests.fixtures.search.filled_index import build_search_index

WORDS = ["lamp", "desk", "cabl", "red", "10mm", "kettle", "hose", "case", "camera", "bag"]


def build_candidates(draw: random.Random):
    def write(count: int) -> str:
        return " ".join(draw.choices(WORDS, k=count))

    rows = {
        str(number): (f"{write(2)} for {write(1)}", write(4), {"color": draw.choice(WORDS)})
        for number in range(draw.randint(0, 4))
    }
    return gather([[PassageHit(passage, 1.0) for passage in build_search_index(rows).iter_passages()]])


def test_all_candidates_at_once_have_what_one_of_them_has() -> None:
    draw = random.Random(1)
    for _ in range(40):
        candidates = build_candidates(draw)
        everything = AllStems(candidates)
        for stem in (*WORDS, "lam", "for", "desk lamp"):
            assert everything.has_any([stem]) == any(one.has(stem) for one in candidates)
            parts = [
                stem in words.keyword_stems
                or widen(stem) in words.text.name
                or widen(stem) in words.text.body
                for words in (one.passage.words for one in candidates)
            ]
            assert everything.has_part([stem]) == any(parts)


def test_no_candidates_have_nothing() -> None:
    assert not AllStems([]).has_any(["lamp", ""])
