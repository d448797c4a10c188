"""How many chunks keep their vector when every price changes, and when 1 % of the descriptions do?

Of 5,000 products: chunks that were not embedded, beside all. `reuse_prices` is of the commit that changes
every price, `reuse_descriptions` of one that writes every row, 1 % of them with another description.
"""

import tempfile
from pathlib import Path

from benchmarks.result import BenchmarkResult
from benchmarks.search.indexed_shop import (
    Row,
    build_chunks,
    build_shop_settings,
    list_products,
    write_products,
)
from benchmarks.sizes import sized
from headwater.app import App

ROWS = sized(5_000, 200)


def run() -> list[BenchmarkResult]:
    """Shares."""
    with tempfile.TemporaryDirectory() as name:
        settings = build_shop_settings(Path(name))
        app = App(settings)
        rows = list_products(ROWS)
        write_products(app.spark, settings, rows)
        first = build_chunks(app)
        rows = [change_price(row) for row in rows]
        write_products(app.spark, settings, rows)
        prices = build_chunks(app)
        rows = [change_text(row) if at % 100 == 0 else row for at, row in enumerate(rows)]
        write_products(app.spark, settings, rows)
        texts = build_chunks(app)
        app.close()
    lost = "" if prices.reused == first.embedded else f"{prices.reused} prices of {first.embedded} arrived"
    missed = "" if texts.embedded >= ROWS // 100 else f"only {texts.embedded} new texts were embedded"
    return [
        BenchmarkResult(
            "reuse_prices", 1 - prices.embedded / first.embedded, 1.0, "share", 1.0, "higher", lost
        ),
        BenchmarkResult(
            "reuse_descriptions", 1 - texts.embedded / first.embedded, 1.0, "share", 0.99, "higher", missed
        ),
    ]


def change_price(row: Row) -> Row:
    return (*row[:4], row[4] + 1)


def change_text(row: Row) -> Row:
    return (*row[:2], f"{row[2]} Now in a new edition.", *row[3:])
