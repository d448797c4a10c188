"""How fast do rows become vectors in Spark's workers, beside the bare model?

Ours: 50,000 products in Parquet through the split and the model, as an indexing run does it, on one core,
thrown away at the end. Floor: the same texts through the model in this process, the same batch size. Both
have loaded the model before, and both cut texts into tokens with one thread: in a worker of Spark, which is a
fork, the library takes no more, and this is about one core.
"""

import os
import tempfile
import time
from pathlib import Path

from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.search.indexed_shop import COLUMNS, build_shop_settings, list_products
from benchmarks.sizes import sized
from headwater.app import App
from headwater.config.search.index import ChunkConfig, EmbedderConfig
from headwater.config.settings import Settings
from headwater.rag.documents import DocumentRules
from headwater.rag.embedding import build_embedder
from headwater.rag.indexing.indexer import embed_frame, split_schema
from headwater.rag.indexing.stages import EmbedTexts, SplitRows, embed_in_batches

ROWS = sized(50_000, 200)
PAIRS = sized(3, 1)


def run() -> BenchmarkResult:
    """Rows a second."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app = App(on_one_core(build_shop_settings(folder)))
        rows = list_products(ROWS)
        path = str(folder / "products")
        app.spark.createDataFrame(rows, COLUMNS).coalesce(1).write.parquet(path)
        config = EmbedderConfig()
        embedder = build_embedder(config, {})
        rules = DocumentRules({"title": 3.0, "description": 1.0}, ("brand", "price"))
        split = SplitRows(rules, ChunkConfig(), embedder.name, {})
        texts = [f"{row[1]}\n{row[2]}" for row in rows]

        def ours() -> float:
            started = time.monotonic()
            source = app.spark.read.parquet(path).select(
                "title", "description", "brand", "price", F.col("id").alias("row_key"),
                F.col("id").alias("source_key"), F.lit("1").alias("commit"), F.lit(True).alias("is_wanted"),
            )  # fmt: skip
            chunks = embed_frame(source.mapInArrow(split, split_schema()), EmbedTexts(config))
            chunks.write.format("noop").mode("overwrite").save()
            return ROWS / (time.monotonic() - started)

        def floor() -> float:
            started = time.monotonic()
            embed_in_batches(embedder, texts, config.batch_size)
            return ROWS / (time.monotonic() - started)

        say(f"warm-up: floor {floor():.0f}, ours {ours():.0f} rows/s")
        pair = choose_median(measure_pairs(ours, floor, PAIRS))
        app.close()
    return BenchmarkResult("embed", pair.value, pair.floor, "rows/s", 0.9, "higher")


def on_one_core(settings: Settings) -> Settings:
    """The same with one task at a time."""
    return settings.model_copy(update={"spark": settings.spark.model_copy(update={"master": "local[1]"})})
