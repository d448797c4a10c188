from collections.abc import Sequence

import pytest

from headwater.config.search.retrieval import RerankConfig
from headwater.errors import HeadwaterError, MissingExtraError
from headwater.rag.retrieval.reranking import CrossEncoderReranker, reorder


class Longest:
    def __init__(self) -> None:
        self.read = 0

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read += len(texts)
        return [float(len(text)) for text in texts]


def test_read_texts_are_ordered_by_score() -> None:
    assert reorder("q", ["a", "aaa", "aa", "aaa"], Longest(), 60.0) == [1, 3, 2, 0]
    assert reorder("q", [], Longest(), 60.0) == []


def test_after_the_budget_the_rest_keeps_its_order() -> None:
    times = iter([0.0, 0.0, 0.2, 0.4])
    reranker = Longest()
    texts = ["a" * number for number in range(1, 13)]
    order = reorder("q", texts, reranker, 0.3, lambda: next(times))
    assert reranker.read == 8
    assert order == [7, 6, 5, 4, 3, 2, 1, 0, 8, 9, 10, 11]


def test_without_its_library_the_extra_is_named() -> None:
    try:
        import sentence_transformers  # noqa: F401 - only whether it is there
    except ImportError:
        with pytest.raises(MissingExtraError) as caught:
            CrossEncoderReranker(RerankConfig())
        assert "sentence-transformers" in caught.value.hint
    else:
        with pytest.raises(HeadwaterError, match="no-such-folder"):
            CrossEncoderReranker(RerankConfig(model="./no-such-folder"))
