import math

import pytest

from headwater.rag.evaluation.metrics import find_interval, score_run

GAINS = {"q": {"e1": 100, "e2": 100, "s": 10, "c": 1, "i": 0}}


def dcg(*gains: int) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def test_ndcg_equals_a_manual_computation() -> None:
    (score,) = score_run({"q": ["s", "x", "e1", "c"]}, GAINS).values()
    assert score.ndcg == pytest.approx(dcg(10, 0, 100, 1) / dcg(100, 100, 10, 1))
    assert score.found == 4


def test_the_best_order_has_ndcg_one() -> None:
    assert score_run({"q": ["e2", "e1", "s", "c", "i"]}, GAINS)["q"].ndcg == pytest.approx(1.0)


def test_only_ten_ranks_count_for_ndcg_and_twenty_for_recall() -> None:
    run = {"q": [f"x{number}" for number in range(10)] + ["e1", "e2"] + [f"y{n}" for n in range(8)] + ["s"]}
    score = score_run(run, GAINS)["q"]
    assert score.ndcg == 0
    assert score.recall == pytest.approx(2 / 3)
    assert score.reciprocal_rank == pytest.approx(1 / 11)


def test_a_complement_is_no_find_for_recall_and_mrr() -> None:
    score = score_run({"q": ["c", "i", "s"]}, GAINS)["q"]
    assert (score.recall, score.reciprocal_rank) == pytest.approx((1 / 3, 1 / 3))


def test_a_query_that_finds_nothing_counts_as_zero() -> None:
    scores = score_run({"a": []}, {"a": {"e": 100}, "b": {"e": 100}, "unjudged": {"i": 0}})
    assert set(scores) == {"a", "b"}
    assert all((score.ndcg, score.recall, score.found) == (0, 0, 0) for score in scores.values())


def test_an_interval_holds_the_mean_narrows_with_more_values_and_repeats() -> None:
    few, many = [0.0, 1.0] * 10, [0.0, 1.0] * 1_000
    low, high = find_interval(few)
    assert low < 0.5 < high
    assert find_interval(few) == (low, high)
    narrow = find_interval(many)
    assert narrow[1] - narrow[0] < (high - low) / 5
    # The normal interval of a mean of 2,000 coins.
    assert narrow[1] - narrow[0] == pytest.approx(2 * 1.96 * 0.5 / math.sqrt(2_000), rel=0.1)
    assert find_interval([]) == (0.0, 0.0)
