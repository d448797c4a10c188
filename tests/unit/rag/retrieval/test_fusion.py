import pytest

from headwater.rag.retrieval.fusion import fuse_distributions, fuse_ranks, stretch

ONE = [("a", 9.0), ("b", 8.0), ("c", 1.0)]
OTHER = [("c", 0.9), ("b", 0.8)]


def test_ranks_are_fused_as_written() -> None:
    fused = fuse_ranks([ONE, OTHER], k=60)
    assert fused == pytest.approx({"c": 1 / 63 + 1 / 61, "b": 1 / 62 + 1 / 62, "a": 1 / 61})
    assert list(fused) == ["c", "b", "a"]


def test_a_weight_lets_a_list_win() -> None:
    assert next(iter(fuse_ranks([ONE, OTHER], k=2, weights=[10, 1]))) == "a"
    assert next(iter(fuse_ranks([ONE, OTHER], k=2, weights=[1, 10]))) == "c"


def test_small_k_favours_first_ranks() -> None:
    first_and_last = [[("a", 1.0), ("b", 0.9)], [("x", 5.0), ("y", 4.0), ("z", 3.0), ("b", 2.0)]]
    assert next(iter(fuse_ranks(first_and_last, k=1))) == "b"
    assert next(iter(fuse_ranks(first_and_last, k=0.01))) == "a"


def test_distributions_stretch_three_deviations() -> None:
    assert stretch([("a", 3.0), ("b", 2.0), ("c", 1.0)]) == pytest.approx(
        {"a": 0.5 + 1 / 6, "b": 0.5, "c": 0.5 - 1 / 6}
    )
    assert stretch([("a", 7.0), ("b", 7.0)]) == {"a": 0.5, "b": 0.5}
    assert stretch([("only", -3.0)]) == {"only": 0.5}
    assert stretch([]) == {}


def test_distributions_do_not_hang_on_the_scale_of_scores() -> None:
    scaled = [(key, 1_000 * score - 5) for key, score in ONE]
    assert fuse_distributions([scaled, OTHER]) == pytest.approx(fuse_distributions([ONE, OTHER]))


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_distributions])
def test_equals_come_in_the_order_of_keys(fuse) -> None:
    assert list(fuse([[("z", 1.0), ("a", 0.5)], [("a", 1.0), ("z", 0.5)]])) == ["a", "z"]
