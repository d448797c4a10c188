import numpy as np

from headwater.rag.retrieval.diversity import diversify

VECTORS = np.asarray([[1, 0], [1, 0], [0, 1]], dtype=np.float32)


def test_relevance_alone_keeps_the_order() -> None:
    assert diversify([3.0, 2.0, 1.0], VECTORS, 0.0, 3) == [0, 1, 2]


def test_a_copy_comes_after_something_else() -> None:
    assert diversify([3.0, 2.9, 2.5], VECTORS, 0.5, 3) == [0, 2, 1]


def test_the_most_relevant_is_first_whatever_the_diversity() -> None:
    assert diversify([1.0, 2.0, 3.0], VECTORS, 0.99, 1) == [2]


def test_equals_keep_their_order_and_nothing_gives_nothing() -> None:
    assert diversify([1.0, 1.0, 1.0], VECTORS, 0.0, 2) == [0, 1]
    assert diversify([], np.zeros((0, 2), dtype=np.float32), 0.5, 3) == []
