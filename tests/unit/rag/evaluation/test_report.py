from typing import Any

import pytest

from headwater.rag.evaluation.judged import JudgedProduct, JudgedQuery, JudgedSet
from headwater.rag.evaluation.metrics import Score
from headwater.rag.evaluation.report import choose, compare, evaluate, passes_gate


def make_scores(*values: float) -> dict[str, Score]:
    return {f"q{number}": Score(value, value, value, 10) for number, value in enumerate(values)}


def test_a_difference_is_paired_by_query() -> None:
    difference = compare(make_scores(0.5, 0.9), make_scores(0.1, 0.5, 0.7))
    assert difference.mean == pytest.approx(0.4)
    assert difference.interval == pytest.approx((0.4, 0.4))


def test_the_default_is_chosen_unless_another_is_surely_better() -> None:
    default = make_scores(*[0.5] * 40)
    luckier = make_scores(*[0.5 + (0.4 if number % 2 else -0.35) for number in range(40)])
    better = make_scores(*[0.6] * 40)
    assert choose({"hybrid": default, "bm25": luckier}) == "hybrid"
    assert choose({"hybrid": default, "bm25": luckier, "dense": better}) == "dense"


@pytest.mark.parametrize(
    ("before", "after", "passed"),
    [
        ([0.5] * 40, [0.5] * 40, True),
        ([0.5] * 40, [0.6] * 40, True),
        ([0.5] * 40, [0.4] * 40, False),
        ([0.5] * 40, [0.499] * 40, True),
        # Worse on average, but not surely.
        ([0.5] * 40, [0.9, 0.05] * 20, True),
        # Too few queries to be sure of anything: the mean decides.
        ([0.5] * 5, [0.9, 0.05, 0.05, 0.05, 0.05], False),
        ([0.5], [0.6], True),
    ],
)
def test_gate_rejects_worse_versions(before: list[float], after: list[float], passed: bool) -> None:
    verdict = passes_gate(make_scores(*before), make_scores(*after))
    assert verdict.passed is passed
    assert verdict.reason


def test_the_first_index_has_to_find_something() -> None:
    assert passes_gate(None, make_scores(0.0, 0.2)).passed
    assert not passes_gate(None, make_scores(0.0, 0.0)).passed


def test_runs_of_other_queries_cannot_be_compared() -> None:
    verdict = passes_gate({"x": Score(1, 1, 1, 1)}, make_scores(1.0))
    assert not verdict.passed


def test_figures_are_of_one_split_with_kinds_and_empty_answers() -> None:
    queries = [
        JudgedQuery("a", "a", "name", "held-out"),
        JudgedQuery("b", "b", "need", "held-out"),
        JudgedQuery("c", "c", "need", "tuning"),
    ]
    judged = JudgedSet([JudgedProduct("p", "p", "")], queries, {query: {"p": 100} for query in "abc"})
    runs = {"hybrid": {"a": ["p"], "b": [], "c": ["p"]}, "bm25": {"a": ["x", "p"], "b": ["p"], "c": []}}
    report = evaluate(judged, runs)
    figures = report.runs["hybrid"]
    assert (figures.ndcg, figures.recall, figures.mrr) == (0.5, 0.5, 0.5)
    assert (figures.zero_results, figures.queries) == (0.5, 2)
    assert figures.kinds == {"name": 1.0, "need": 0.0}
    assert evaluate(judged, runs, "tuning").runs["bm25"].zero_results == 1.0
    assert evaluate(judged, runs, "all").runs["hybrid"].queries == 3
    printed: dict[str, Any] = report.to_json()
    assert set(printed) >= {"runs", "chosen"}
    assert set(printed["runs"]["hybrid"]) >= {"ndcg@10", "recall@20", "mrr", "interval"}
