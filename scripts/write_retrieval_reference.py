"""Writes docs/reference/retrieval.md and its plot: `python -m scripts.write_retrieval_reference`.

The shipped catalogue (its held-out queries), and seven judged shops that the tests keep to see whether the
shipped settings also do well elsewhere.
"""

import dataclasses
import sys
from pathlib import Path

from headwater.config.search.index import EmbedderConfig
from headwater.config.search.retrieval import RetrievalConfig
from headwater.rag.embedding import build_embedder
from headwater.rag.evaluation.files import read_shipped
from headwater.rag.evaluation.judged import JudgedSet
from headwater.rag.evaluation.metrics import mean, score_run
from headwater.rag.evaluation.report import Evaluation, evaluate
from headwater.rag.evaluation.runs import HYBRID, build_index, run_all, run_retriever
from headwater.rag.retrieval.ranking import Weights
from headwater.rag.retrieval.retriever import Retriever
from scripts.leave_one_out import leave_out, measure_shop, score_shop
from tests.fixtures.search.judged_shops import SHOPS, read_shop
from tests.fixtures.search.other_catalogue import generate_other

DOCS = Path(__file__).resolve().parent.parent / "docs/reference"
PLOT = "retrieval.svg"
BAR, GAP, LEFT, WIDTH = 18, 8, 70, 420

HEAD = """# How well search finds

Written by `make retrieval-figures`; do not edit. `headwater index eval` prints the first table, and takes a
catalogue of your own: [how to](../how-to/search-quality.md). Why these settings:
[decision 0008](../decisions/0008-default-retrieval.md).

nDCG@10 with ESCI's gains (exact 1, substitute 0.1, complement 0.01); recall@20 and MRR count exact ones
and substitutes. Intervals: 95 %, bootstrap over queries. `bm25` is BM25 (k1 1.2, b 0.75) over title and
description with stems; `dense` is wordllama; `rrf-k` and `dbsf` fuse these two; `hybrid` is what ships.

The shops differ in grammar, not only in goods: in `prose`, titles praise and do not name the thing; in
`marketplace`, they are lists of keywords; `sheets` are codes and nested attributes; the last three are in
other languages. Needs are uses that no seller mentions. Their gains are 7, 3 and 1 instead of ESCI's.
"""


def main() -> int:
    embedder = build_embedder(EmbedderConfig())
    shipped = read_shipped()
    held_out = [query for query in shipped.queries if query.split == "held-out"]
    shops = {
        "The shipped catalogue": dataclasses.replace(shipped, queries=held_out),
        "Another catalogue": generate_other(),
        **{name.capitalize(): read_shop(name) for name in SHOPS},
    }
    parts = [HEAD]
    reports = {}
    for name, judged in shops.items():
        reports[name] = evaluate(judged, run_all(judged, embedder))
        size = f"{len(judged.products):,} products, {len(judged.queries)} queries"
        parts.append(f"## {name}\n\n{size}.\n\n{write_table(reports[name])}")
    parts.insert(1, f"![nDCG@10 of each way to rank, with 95 % intervals]({PLOT})\n")
    parts.append(f"## Weights chosen without a shop\n\n{write_left_out(shops, embedder)}")
    parts.append(f"## What each part brings\n\n{write_ablation(shops, embedder)}")
    (DOCS / "retrieval.md").write_text("\n".join(parts), "utf-8")
    (DOCS / PLOT).write_text(draw(reports), "utf-8")
    print(f"{DOCS / 'retrieval.md'}, {PLOT}")
    return 0


def write_table(report: Evaluation) -> str:
    kinds = list(report.runs[HYBRID].kinds)
    lines = [
        "| run | nDCG@10 | 95 % | recall@20 | MRR | nothing found | "
        + " | ".join(kinds)
        + " | less than hybrid by |",
        "| --- " * (7 + len(kinds)) + "|",
    ]
    for name, one in report.runs.items():
        difference = report.differences.get(name)
        gap = (
            f"{difference.mean:.3f} ({difference.interval[0]:.3f} to {difference.interval[1]:.3f})"
            if difference is not None
            else ""
        )
        by_kind = " | ".join(f"{one.kinds[kind]:.3f}" for kind in kinds)
        lines.append(
            f"| {name} | {one.ndcg:.3f} | {one.interval[0]:.3f}-{one.interval[1]:.3f} | {one.recall:.3f} "
            f"| {one.mrr:.3f} | {one.zero_results:.1%} | {by_kind} | {gap} |"
        )
    return "\n".join(lines) + "\n"


def write_left_out(shops: dict[str, JudgedSet], embedder) -> str:
    """nDCG@10 of the shipped weights, and of weights chosen on all other shops."""
    measured = {name: measure_shop(judged, embedder) for name, judged in shops.items()}
    lines = [
        "nDCG@10 with the weights that ship, and with those that a search by coordinates finds on the seven",
        "other shops. A weight that fits only the shops on which it was chosen would show here.",
        "",
        "| shop | shipped weights | chosen on the others |",
        "| --- | --- | --- |",
    ]
    for name, (score, _) in leave_out(measured, Weights()).items():
        lines.append(f"| {name} | {score_shop(measured[name], Weights()):.3f} | {score:.3f} |")
    return "\n".join(lines) + "\n"


def write_ablation(shops: dict[str, JudgedSet], embedder) -> str:
    """nDCG@10 of the shipped ranking without each of its parts."""
    indexes = {name: build_index(judged, embedder) for name, judged in shops.items()}
    variants = {"all": (RetrievalConfig(), Weights())}
    variants["spelling"] = (RetrievalConfig(correct_spelling=False), Weights())
    for field in dataclasses.fields(Weights):
        variants[field.name] = (RetrievalConfig(), dataclasses.replace(Weights(), **{field.name: 0.0}))
    for depth in (30, 50, 200):
        variants[f"depth {depth} instead of 100"] = (RetrievalConfig(depth=depth), Weights())
    lines = ["| without | " + " | ".join(shops) + " |", "| --- " * (1 + len(shops)) + "|"]
    for variant, (config, weights) in variants.items():
        values = []
        for name, judged in shops.items():
            run = run_retriever(Retriever(indexes[name], embedder, config, weights=weights), judged)
            asked = {query.query_id for query in judged.queries}
            gains = {query: found for query, found in judged.gains.items() if query in asked}
            values.append(f"{mean([one.ndcg for one in score_run(run, gains).values()]):.3f}")
        lines.append(f"| {'(nothing: as shipped)' if variant == 'all' else variant} | {' | '.join(values)} |")
    return "\n".join(lines) + "\n"


def draw(reports: dict[str, Evaluation]) -> str:
    """Bars with intervals; colours that are read in light and in dark."""
    pieces, top = [], 10
    for title, report in reports.items():
        pieces.append(f'<text x="0" y="{top + 12}" font-weight="bold">{title}</text>')
        top += 24
        for name, one in report.runs.items():
            low, high = (LEFT + bound * WIDTH for bound in one.interval)
            middle = top + BAR / 2
            color = "#2f6fde" if name == HYBRID else "#8a94a6"
            pieces += [
                f'<text x="0" y="{middle + 4}">{name}</text>',
                f'<rect x="{LEFT}" y="{top}" width="{one.ndcg * WIDTH:.1f}" height="{BAR}" fill="{color}"/>',
                f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#222" stroke-width="2"/>',
                f'<text x="{high + 8:.1f}" y="{middle + 4}">{one.ndcg:.3f}</text>',
            ]
            top += BAR + GAP
        top += 12
    body = "\n".join(pieces)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{top}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="nDCG@10 of each way to rank">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    sys.exit(main())
