"""The whole shipped set: products, queries, judgements, and the split by query. Pure."""

import random

from headwater.rag.evaluation.judged import GAINS, JudgedQuery, JudgedSet, Split
from headwater.rag.evaluation.shop.products import build_items
from headwater.rag.evaluation.shop.queries import draw_queries, grade

SEED = 20260101


def generate(seed: int = SEED) -> JudgedSet:
    """Generate the set; deterministic for a seed on every machine."""
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    items = build_items(draw)
    queries: list[JudgedQuery] = []
    gains: dict[str, dict[str, int]] = {}
    for number, (kind, wanted) in enumerate(draw_queries(items, draw), start=1):
        # Kinds come in sequence, so that each is halved.
        split: Split = "tuning" if number % 2 else "held-out"
        query = JudgedQuery(f"q{number:03}", wanted.text, kind, split)
        queries.append(query)
        gains[query.query_id] = {
            item.product.product_id: gain for item in items if (gain := GAINS[grade(item, wanted)]) > 0
        }
    return JudgedSet([item.product for item in items], queries, gains)
