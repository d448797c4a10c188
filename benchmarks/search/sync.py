"""How fast do chunks reach a local index, beside the bare engine?

Ours: 20,000 chunks from the chunks table, read by hudi-rs, into an empty version, checkpoint last. Floor:
the same points out of memory, their words encoded by the same encoder, upserted by the engine in pages of
the same size. The engine builds no graph meanwhile.
"""

import itertools
import tempfile
import time
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.search.indexed_shop import (
    build_chunks,
    build_shop_settings,
    list_products,
    open_index,
    write_products,
)
from benchmarks.sizes import sized
from headwater.app import App
from headwater.rag.syncing import sync
from headwater.rag.vector_stores.qdrant_edge import index as edge_index

ROWS = sized(20_000, 200)
PAIRS = sized(3, 1)


def run() -> BenchmarkResult:
    """Points a second."""
    edge_index.OPTIMIZE_AFTER = 10 * ROWS
    with tempfile.TemporaryDirectory() as name:
        folder, numbers = Path(name), itertools.count()
        settings = build_shop_settings(folder)
        app = App(settings)
        write_products(app.spark, settings, list_products(ROWS))
        build_chunks(app)
        app.close()
        snapshot = open_index(settings, folder / "none").open_chunks().read_snapshot()
        chunks = list(snapshot.iter_chunks(None))

        def ours() -> float:
            index = open_index(settings, folder / f"ours-{next(numbers)}")
            version = index.store.create("v0001", index.build_spec())
            started = time.monotonic()
            index.open_sync(version).run()
            seconds = time.monotonic() - started
            index.close()
            return len(chunks) / seconds

        def floor() -> float:
            index = open_index(settings, folder / f"floor-{next(numbers)}")
            version = index.store.create("v0001", index.build_spec())
            started = time.monotonic()
            for at in range(0, len(chunks), sync.PAGE):
                version.upsert(sync.build_points(chunks[at : at + sync.PAGE], index.encoder))
            seconds = time.monotonic() - started
            index.close()
            return len(chunks) / seconds

        say(f"{len(chunks)} chunks; warm-up: floor {floor():.0f} points/s")
        pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return BenchmarkResult("sync", pair.value, pair.floor, "points/s", 0.9, "higher")
