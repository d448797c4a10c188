"""The result of an evaluation: figures per run, differences from the shipped default, and the gate. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.rag.evaluation.judged import JudgedQuery, JudgedSet
from headwater.rag.evaluation.metrics import Run, Score, find_interval, mean, score_run
from headwater.rag.evaluation.runs import HYBRID

SplitName = Literal["held-out", "tuning", "all"]
# With fewer queries an interval is inconclusive; the gate then uses the mean alone.
MIN_GATE_QUERIES = 20
# A new index may be worse by this much on average: less is noise from ties and changed products.
GATE_TOLERANCE = 0.005


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over queries; `interval` is the 95 % interval of nDCG. `zero_results` is the share of queries
    without results."""

    ndcg: float
    recall: float
    mrr: float
    interval: tuple[float, float]
    zero_results: float
    queries: int
    kinds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """nDCG@10 of one run minus that of another, query by query: mean and 95 % interval."""

    mean: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The compared runs. `differences` are the chosen run minus each other run; `kinds` are nDCG@10."""

    split: SplitName
    runs: Mapping[str, Figures]
    chosen: str
    differences: Mapping[str, MetricDifference]

    def to_json(self) -> dict[str, object]:
        """Return the document that `headwater index eval --json` prints."""
        return {
            "split": self.split,
            "runs": {name: _figures_to_json(figures) for name, figures in self.runs.items()},
            "chosen": self.chosen,
            "differences": {
                name: {"ndcg@10": round(one.mean, 4), "interval": _round(one.interval)}
                for name, one in self.differences.items()
            },
        }


@dataclass(frozen=True, slots=True)
class EvaluationVerdict:
    """Whether a new index may go live, and why."""

    passed: bool
    difference: MetricDifference
    reason: str


def evaluate(judged: JudgedSet, runs: Mapping[str, Run], split: SplitName = "held-out") -> Evaluation:
    """Return figures for the queries of one split."""
    names = {query.query_id: query.kind for query in select_queries(judged, split)}
    gains = {query: products for query, products in judged.gains.items() if query in names}
    scores = {name: score_run(run, gains) for name, run in runs.items()}
    chosen = choose(scores)
    return Evaluation(
        split,
        {name: _build_figures(found, names) for name, found in scores.items()},
        chosen,
        {name: compare(scores[chosen], found) for name, found in scores.items() if name != chosen},
    )


def select_queries(judged: JudgedSet, split: SplitName) -> list[JudgedQuery]:
    """Return the queries of one split."""
    return [query for query in judged.queries if split in ("all", query.split)]


def list_queries(
    judged: JudgedSet, runs: Mapping[str, Run], split: SplitName = "held-out"
) -> list[dict[str, object]]:
    """Return the figures and rows of each query and run, for comparing query by query."""
    gains = {query.query_id: judged.gains.get(query.query_id, {}) for query in judged.queries}
    scores = {name: score_run(run, gains) for name, run in runs.items()}
    return [
        {
            "query_id": query.query_id,
            "query": query.text,
            "kind": query.kind,
            "run": name,
            "ndcg@10": round(score.ndcg, 4),
            "recall@20": round(score.recall, 4),
            "mrr": round(score.reciprocal_rank, 4),
            "rows": list(runs[name].get(query.query_id, ())),
        }
        for query in select_queries(judged, split)
        for name, found in scores.items()
        if (score := found.get(query.query_id)) is not None
    ]


def choose(scores: Mapping[str, Mapping[str, Score]]) -> str:
    """Return the shipped default, or the best run whose interval of improvement is above zero."""
    default = HYBRID if HYBRID in scores else next(iter(scores))
    better = {
        name: difference.mean
        for name, found in scores.items()
        if name != default and (difference := compare(found, scores[default])).interval[0] > 0
    }
    return max(better, key=lambda name: better[name]) if better else default


def compare(after: Mapping[str, Score], before: Mapping[str, Score]) -> MetricDifference:
    """Compare paired by query; ignores queries that only one run has."""
    values = [after[query].ndcg - before[query].ndcg for query in sorted(after.keys() & before.keys())]
    return MetricDifference(mean(values), find_interval(values))


def passes_gate(before: Mapping[str, Score] | None, after: Mapping[str, Score]) -> EvaluationVerdict:
    """Judge whether a new index is good enough to go live.

    It fails if the mean falls by more than the tolerance, and the interval is below zero or there are few
    queries. Without a previous index, it must find at least one relevant product.
    """
    if before is None:
        found = any(score.ndcg > 0 for score in after.values())
        difference = MetricDifference(mean([score.ndcg for score in after.values()]), (0.0, 0.0))
        return EvaluationVerdict(
            found, difference, "first version" if found else "finds none of the judged products"
        )
    difference = compare(after, before)
    common = len(after.keys() & before.keys())
    low, high = difference.interval
    if common == 0:
        return EvaluationVerdict(False, difference, "no judged query was run on both versions")
    if difference.mean < -GATE_TOLERANCE and (high < 0 or common < MIN_GATE_QUERIES):
        return EvaluationVerdict(
            False, difference, f"nDCG@10 falls by {-difference.mean:.3f} ({low:+.3f} to {high:+.3f})"
        )
    return EvaluationVerdict(True, difference, f"nDCG@10 {difference.mean:+.3f} ({low:+.3f} to {high:+.3f})")


def _build_figures(scores: Mapping[str, Score], kinds: Mapping[str, str]) -> Figures:
    found = list(scores.values())
    by_kind: dict[str, list[float]] = {}
    for query, score in scores.items():
        by_kind.setdefault(kinds[query], []).append(score.ndcg)
    ndcg: Sequence[float] = [score.ndcg for score in found]
    return Figures(
        mean(ndcg),
        mean([score.recall for score in found]),
        mean([score.reciprocal_rank for score in found]),
        find_interval(ndcg),
        mean([float(score.found == 0) for score in found]),
        len(found),
        {kind: mean(values) for kind, values in by_kind.items()},
    )


def _figures_to_json(figures: Figures) -> dict[str, object]:
    return {
        "ndcg@10": round(figures.ndcg, 4),
        "recall@20": round(figures.recall, 4),
        "mrr": round(figures.mrr, 4),
        "interval": _round(figures.interval),
        "zero_result_rate": round(figures.zero_results, 4),
        "queries": figures.queries,
        "kinds": {kind: round(value, 4) for kind, value in figures.kinds.items()},
    }


def _round(interval: tuple[float, float]) -> list[float]:
    return [round(bound, 4) for bound in interval]
