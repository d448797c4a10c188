"""How fast do the rows of a table become committed chunks and vectors, on all cores?

Ours: 100,000 products in a data table through the first indexing run, into a chunks table that does not exist
yet, in a session that has done so before. Floor: the bare model with the same texts and batch size, in one
process per core that has loaded it. The share of our time that is not the model's is reading the table,
cutting texts, and Hudi's commit of the vectors.
"""

import multiprocessing
import os
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.search.indexed_shop import build_chunks, build_shop_settings, list_products, write_products
from benchmarks.sizes import sized
from headwater.app import App
from headwater.config.search.index import EmbedderConfig
from headwater.lake.layout import chunks_path
from headwater.rag.embedding import build_embedder
from headwater.rag.embedding.protocol import Embedder
from headwater.rag.indexing.stages import embed_in_batches

ROWS = sized(100_000, 200)
PAIRS = sized(3, 1)


def run() -> BenchmarkResult:
    """Rows a second."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with tempfile.TemporaryDirectory() as name:
        settings = build_shop_settings(Path(name))
        app = App(settings)
        rows = list_products(ROWS)
        write_products(app.spark, settings, rows)
        cores = os.cpu_count() or 1
        texts = [f"{row[1]}\n{row[2]}" for row in rows]
        parts = [texts[core::cores] for core in range(cores)]

        def ours() -> float:
            shutil.rmtree(chunks_path(settings.lake), ignore_errors=True)
            started = time.monotonic()
            report = build_chunks(app)
            assert report.embedded >= ROWS
            return ROWS / (time.monotonic() - started)

        with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as processes:

            def floor() -> float:
                started = time.monotonic()
                assert sum(processes.map(embed, parts)) == ROWS
                return ROWS / (time.monotonic() - started)

            say(f"warm-up: floor {floor():.0f}, ours {ours():.0f} rows/s")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
        app.close()
    return BenchmarkResult("build", pair.value, pair.floor, "rows/s", 0.9, "higher")


def embed(texts: list[str]) -> int:
    """Embed texts in a process of their own; returns their number."""
    return len(embed_in_batches(load_model(), texts, EmbedderConfig().batch_size))


@cache
def load_model() -> Embedder:
    """The default model, loaded once by each process."""
    return build_embedder(EmbedderConfig(), {})
