"""The shipped default has to beat each leg and plain fusion, on held-out queries and on shops unlike it."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from headwater.config.search.index import EmbedderConfig
from headwater.rag.embedding import build_embedder
from headwater.rag.evaluation.files import read_shipped
from headwater.rag.evaluation.judged import JudgedSet
from headwater.rag.evaluation.report import evaluate
from headwater.rag.evaluation.runs import BM25, DENSE, HYBRID, PLAIN_FUSION, run_all
from tests.fixtures.search.judged_shops import SHOPS, read_shop
from tests.fixtures.search.other_catalogue import generate_other

MARGIN = 0.04
PAGE = (Path(__file__).parents[4] / "docs/reference/retrieval.md").read_text("utf-8")


def read_page(title: str) -> dict[str, float]:
    """nDCG@10 by run, as the page tells."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return {name: float(ndcg) for name, ndcg in re.findall(r"^\| ([a-z0-9-]+) \| ([\d.]+) \|", section, re.M)}


CASES: dict[str, Callable[[], JudgedSet]] = {
    "The shipped catalogue": read_shipped,
    "Another catalogue": generate_other,
    **{name.capitalize(): partial(read_shop, name) for name in SHOPS},
}
QUICK = ("The shipped catalogue",)


@pytest.mark.parametrize(
    "title", [pytest.param(title, marks=() if title in QUICK else pytest.mark.slow) for title in CASES]
)
def test_the_default_beats_legs_and_plain_fusion(title: str) -> None:
    judged = CASES[title]()
    held_out = [query for query in judged.queries if query.split == "held-out"]
    report = evaluate(
        judged,
        run_all(JudgedSet(judged.products, held_out, judged.gains), build_embedder(EmbedderConfig())),
    )
    assert report.chosen == HYBRID
    for name in (BM25, DENSE, PLAIN_FUSION):
        difference = report.differences[name]
        assert difference.mean >= MARGIN, name
        assert difference.interval[0] > 0, name
    figures = report.runs[HYBRID]
    assert figures.zero_results == 0
    # No kind of query pays for the others.
    for kind, ndcg in figures.kinds.items():
        assert ndcg >= max(report.runs[name].kinds[kind] for name in (BM25, DENSE, PLAIN_FUSION)) - 0.02, kind
    # The page is of this code: make retrieval-figures. Sums differ a little from machine to machine.
    assert read_page(title) == pytest.approx({name: one.ndcg for name, one in report.runs.items()}, abs=0.003)
