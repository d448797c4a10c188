"""How soon does a process that starts on an index of 20,000 products answer, beside the bare engine?

Ours: a new process that loads the configuration, opens the live version, finds it up to its chunks, and
answers one query with words and vector. Floor: a new process with the engine alone that opens the same
folder and answers the same vector. Nothing may be embedded but the query.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import write_config
from benchmarks.search.indexed_shop import (
    build_chunks,
    build_shop_settings,
    list_products,
    open_index,
    write_products,
)
from benchmarks.sizes import sized
from headwater.app import App

ROWS = sized(20_000, 200)
PAIRS = sized(5, 1)
QUERY = "headphones for swimming"

OURS = """
import sys
from pathlib import Path
from headwater.app.search import SearchIndex
from headwater.config.loader import load_settings
from headwater.rag.retrieval.query import SearchQuery
from headwater.rag.retrieval.retriever import Retriever
index = SearchIndex(load_settings(Path(sys.argv[1])))
assert not index.sync().has_changed
name, version = index.versions.open_live()
assert Retriever(version, index.embedder).search(SearchQuery(sys.argv[2])).rows
index.close()
"""
FLOOR = """
import sys
import qdrant_edge as q
shard = q.EdgeShard.load(sys.argv[1])
query = q.Query.Nearest([1 / 16] * 256, using="dense")
assert shard.query(q.QueryRequest(limit=10, query=query, with_payload=True))
"""


def run() -> BenchmarkResult:
    """Seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = build_shop_settings(folder)
        app = App(settings)
        write_products(app.spark, settings, list_products(ROWS))
        build_chunks(app)
        app.close()
        index = open_index(settings, folder / "index")
        index.sync()
        state = index.find_chunks_state()
        index.close()
        config = write_config(
            folder, index.settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
        )
        # The engine knows no lock: the floor has a copy of its own.
        shutil.copytree(folder / "index" / "headwater" / "v0001" / "shard", folder / "shard")

        def ours() -> float:
            return measure(OURS, str(config), QUERY)

        def floor() -> float:
            return measure(FLOOR, str(folder / "shard"))

        say(f"warm-up: floor {floor():.2f} s, ours {ours():.2f} s")
        pair = choose_median(measure_pairs(ours, floor, PAIRS))
        after = index.find_chunks_state()
    broken = "" if state == after else "something was embedded for a restart"
    return BenchmarkResult("restart", pair.value, pair.floor, "s", 8.0, "lower", broken)


def measure(code: str, *arguments: str) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    return time.monotonic() - started
