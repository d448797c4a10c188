"""How soon does a server with 100,000 products answer, and how much memory does it take?

`serve_start`: seconds from the start of `headwater serve` on an index in a folder until `/readyz` succeeds;
nothing is built. `serve_first`: seconds until a server without an index answers probes; it builds the first
version from the chunks. Floor of both: a new process with the engine alone that opens the folder and answers
one vector; the goals come from ten seconds. `serve_memory`: memory of the started server that no file backs
after 200 searches by eight users, of one gigabyte.
"""

import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import write_config
from benchmarks.rig.processes import read_own_bytes, run_headwater, wait_until
from benchmarks.search.answer_freshness import read_address
from benchmarks.search.indexed_shop import (
    build_chunks,
    build_shop_settings,
    list_products,
    open_index,
    write_products,
)
from benchmarks.search.restart import FLOOR
from benchmarks.search.restart import measure as measure_process
from benchmarks.sizes import sized
from headwater.app import App

ROWS = sized(100_000, 200)
PAIRS = sized(3, 1)
SEARCHES = sized(200, 8)
USERS = 8
_GOAL_SECONDS = 10.0
_MOST_SECONDS = 900
_QUERIES = ("headphones for swimming", "red shoes under 80", "coffee machine", "gift for a runner")


def run() -> tuple[BenchmarkResult, ...]:
    """Seconds, seconds and megabytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = prepare(folder)
        first, built, _ = start(config)
        say(f"first start: probes answered after {first:.1f} s, ready after {built:.1f} s")
        build_graph(folder)
        # The engine knows no lock: the floor has a copy of its own.
        shutil.copytree(folder / "index" / "headwater" / "v0001" / "shard", folder / "shard")
        memory: list[int] = []

        def ours() -> float:
            _, ready, used = start(config, SEARCHES)
            memory.append(used)
            return ready

        def floor() -> float:
            return measure_process(FLOOR, str(folder / "shard"))

        pair = choose_median(measure_pairs(ours, floor, PAIRS))
    goal = _GOAL_SECONDS / pair.floor
    return (
        BenchmarkResult("serve_start", pair.value, pair.floor, "s", goal, "lower"),
        BenchmarkResult("serve_first", first, pair.floor, "s", goal, "lower"),
        BenchmarkResult("serve_memory", max(memory) / 2**20, 1_024.0, "MB", 1.0, "lower"),
    )


def prepare(folder: Path) -> Path:
    """Products and their chunks, no index; returns the configuration."""
    settings = build_shop_settings(folder)
    app = App(settings)
    write_products(app.spark, settings, list_products(ROWS))
    report = build_chunks(app)
    app.close()
    say(f"{ROWS} products became chunks in {report.seconds:.0f} s")
    with closing(open_index(settings, folder / "index")) as index:
        plain = index.settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return write_config(folder, plain)


def build_graph(folder: Path) -> None:
    """What a server does once its first version is live."""
    with closing(open_index(build_shop_settings(folder), folder / "index")) as index:
        index.optimize()


def start(config: Path, searches: int = 0) -> tuple[float, float, int]:
    """Start a server, search, and stop it; returns seconds to an answer and to ready, and bytes in use."""
    log = config.with_suffix(".log")
    log.unlink(missing_ok=True)
    started = time.monotonic()
    with run_headwater(config, "serve", "--port", "0", log=log) as server:
        wait_until(lambda: is_answered(log, "healthz"), _MOST_SECONDS, "an answer to a probe", server)
        answered = time.monotonic() - started
        wait_until(lambda: is_answered(log, "readyz"), _MOST_SECONDS, "the index", server)
        ready = time.monotonic() - started
        with ThreadPoolExecutor(USERS) as users:
            list(users.map(lambda at: search(read_address(log), at), range(searches)))
        return answered, ready, read_own_bytes(server.pid)


def is_answered(log: Path, probe: str) -> bool:
    """Whether the server answers the probe with success."""
    address = read_address(log) if log.exists() else ""
    try:
        return bool(address) and httpx.get(f"{address}/{probe}", timeout=10).status_code == 200
    except httpx.HTTPError:
        return False


def search(address: str, at: int) -> None:
    """One search of a user."""
    query = {"query": f"{_QUERIES[at % len(_QUERIES)]} {at}"}
    httpx.post(f"{address}/search", json=query, timeout=60).raise_for_status()
