"""How soon after a change in the bucket is the server's answer as it is now, in commits?

For 80 seconds one file a second changes in an S3 emulator whose bucket notifies a queue: one product each,
of a shelf of 500. In turns a price and words are overwritten, a product is new, one is removed; none changes
twice. `headwater run` mirrors them and keeps the chunks, `headwater serve` is a second process that follows
the chunks and reads newer rows of the shelf; `search:` has its defaults. Value: seconds from just before the
PUT or DELETE to the first `POST /search` that answers as the product is now; asked ten times a second. Floor:
one events commit, one data commit and one chunks commit of as many rows and one upsert of as many points into
the engine, on the session of the run right before and after. Two results: the median and the 99th percentile.
A change that is never answered breaks both.
"""

import itertools
import json
import re
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import JSON, write_config
from benchmarks.rig.commits import Commits, list_commits
from benchmarks.rig.following import follow, read_timing
from benchmarks.rig.notified_bucket import open_notified_bucket
from benchmarks.rig.processes import run_headwater, wait_until
from benchmarks.search import bare_steps
from benchmarks.search.indexed_shop import list_products
from benchmarks.search.prober import Change, Prober, Product, plan_changes
from benchmarks.sizes import sized
from headwater.demo.landing_zone import Clients
from headwater.lake.layout import chunks_path, events_path, table_path

A_SECOND = 1
SECONDS = sized(80, 8)
WARM_UP = sized(40, 4)
PRODUCTS = sized(500, 30)
# About what one data commit brings.
ROWS_A_COMMIT = 6
TABLES = {"shelf": {"path": "shelf/*.json", "mode": "mirror"}}
SEARCH = {
    "table": "shelf",
    "id": "product_id",
    "text": {"title": 3, "description": 1},
    "serve": {"requests_per_minute": 1_000_000},
}
STAGES = {"events": "key", "shelf": "product_id"}
"""Tables on the way, and the column that names the product there."""
_PUT_THREADS = 4
_START_SECONDS = 180
_ANSWER_SECONDS = 90


def run() -> tuple[BenchmarkResult, BenchmarkResult]:
    """Seconds, and the seconds of three bare commits and an upsert."""
    with open_notified_bucket() as bucket:
        settings = {"source": bucket.source, "tables": TABLES, "search": SEARCH}
        return measure(bucket.folder, settings, bucket.clients)


def measure(folder: Path, settings: JSON, clients: Clients) -> tuple[BenchmarkResult, BenchmarkResult]:
    """With a bucket and a queue that are there."""
    config, bucket = write_config(folder, settings), settings["source"]["bucket"]
    products = [to_product(row) for row in list_products(PRODUCTS + WARM_UP + A_SECOND * SECONDS)]
    shelf, new = products[:PRODUCTS], products[PRODUCTS:]
    changes = plan_changes(shelf, new, WARM_UP + A_SECOND * SECONDS)
    with (
        follow(bare_steps.__name__, config, ROWS_A_COMMIT, folder / "run.log") as process,
        ExitStack() as stack,
    ):
        tables = {name: stack.enter_context(Commits(path)) for name, path in find_tables(folder).items()}
        committed = stack.enter_context(Commits(Path(chunks_path(str(folder / "lake")))))
        before = read_timing(process)
        say(f"bare steps before: {before}")
        put_shelf(clients, bucket, shelf)
        chunks = chunks_path(str(folder / "lake"))
        wait_until(lambda: bool(list_commits(chunks)), _START_SECONDS, "the first chunks", process)
        with serve(config, folder / "serve.log") as address, Prober(address) as prober:
            for part in (changes[:WARM_UP], changes[WARM_UP:]):
                began = make_changes(clients, bucket, part, prober)
                try:
                    wait_until(prober.has_all, _ANSWER_SECONDS, "all answers", process)
                except TimeoutError as error:
                    say(str(error))
        say_stages(changes[WARM_UP:], began, tables, prober.answered)
        process.terminate()
        after = read_timing(process)
        say(f"bare steps after: {after}; chunks commits in between: {len(committed.completed)}")
    return build_results(began, prober.answered, [before, after])


def build_results(
    began: Mapping[str, float], answered: Mapping[str, float], timings: Sequence[Mapping[str, float]]
) -> tuple[BenchmarkResult, BenchmarkResult]:
    """Percentiles over the changes that were answered."""
    seconds = [answered[name] - at for name, at in began.items() if name in answered]
    floor = statistics.mean(sum(timing.values()) for timing in timings)
    missing = len(began) - len(seconds)
    broken = f"{missing} of {len(began)} changes were never answered" if missing else ""
    percentiles = statistics.quantiles(seconds, n=100)
    say(f"seconds: {describe(seconds)}; floor {floor:.2f}")
    return (
        BenchmarkResult("answer_freshness_p50", percentiles[49], floor, "s", 3.0, "lower", broken),
        BenchmarkResult("answer_freshness_p99", percentiles[98], floor, "s", 6.0, "lower", broken),
    )


def to_product(row: tuple[object, ...]) -> Product:
    """A row of the generator as a file has it."""
    return dict(zip(("product_id", "title", "description", "brand", "price"), row, strict=True))


def find_tables(folder: Path) -> dict[str, Path]:
    """Where the tables of `STAGES` lie."""
    lake = str(folder / "lake")
    paths = (events_path(lake), table_path(lake, "shelf"))
    return dict(zip(STAGES, map(Path, paths), strict=True))


def put_shelf(clients: Clients, bucket: str, shelf: Sequence[Product]) -> None:
    """One object a product, as fast as it goes."""
    with ThreadPoolExecutor(_PUT_THREADS) as pool:
        list(pool.map(lambda product: put(clients, bucket, Change(product)), shelf))
    say(f"put a shelf of {len(shelf)} products")


def put(clients: Clients, bucket: str, change: Change) -> None:
    """Make the change in the bucket."""
    if change.is_removal:
        clients.s3.delete_object(Bucket=bucket, Key=change.key)
    else:
        body = json.dumps(change.product).encode() + b"\n"
        clients.s3.put_object(Bucket=bucket, Key=change.key, Body=body)


def make_changes(
    clients: Clients, bucket: str, changes: Sequence[Change], prober: Prober
) -> dict[str, float]:
    """Make them at the pace; returns when each PUT or DELETE began, by product id."""
    began: dict[str, float] = {}
    started = time.monotonic()
    for at, change in enumerate(changes):
        time.sleep(max(0.0, started + at / A_SECOND - time.monotonic()))
        began[change.product_id] = time.time()
        prober.expect(change)
        put(clients, bucket, change)
    say(f"made {len(changes)} changes in {time.monotonic() - started:.1f} s")
    return began


@contextmanager
def serve(config: Path, log: Path) -> Iterator[str]:
    """`headwater serve` in a process of its own; gives its address when it has the whole shelf."""
    with run_headwater(config, "serve", "--port", "0", log=log) as server:
        wait_until(lambda: bool(read_address(log)), _START_SECONDS, "the server answers", server)
        address = read_address(log)
        wait_until(lambda: count_served(address) == PRODUCTS, _START_SECONDS, "the whole shelf", server)
        yield address


def read_address(log: Path) -> str:
    """What the server tells when it answers; empty before."""
    found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text("utf-8"))
    return found.group() if found else ""


def count_served(address: str) -> int:
    """Chunks in the server's index."""
    return int(httpx.get(f"{address}/readyz", timeout=10).json()["rows"])


def say_stages(
    changes: Sequence[Change],
    began: Mapping[str, float],
    tables: Mapping[str, Commits],
    answered: Mapping[str, float],
) -> None:
    """Where the seconds go, of what was not removed: a removed row is in no table that tells when."""
    times = {name: tables[name].read_times(column) for name, column in STAGES.items()}
    steps: dict[str, list[float]] = {name: [] for name in (*STAGES, "answer")}
    for change in changes:
        name = change.product_id
        if change.is_removal or name not in answered:
            continue
        at_table = (change.key, name)
        done = [times[table][at] for table, at in zip(STAGES, at_table, strict=True)]
        moments = [began[name], *done, answered[name]]
        for step, (first, second) in zip(steps, itertools.pairwise(moments), strict=True):
            steps[step].append(second - first)
    for step, seconds in steps.items():
        say(f"seconds to {step}: {describe(seconds)}")


def describe(seconds: Sequence[float]) -> str:
    """Some percentiles, and the most."""
    percentiles = statistics.quantiles(seconds, n=100)
    shown = ", ".join(f"p{at} {percentiles[at - 1]:.2f}" for at in (1, 25, 50, 75, 90, 99))
    return f"{shown}, slowest {max(seconds):.2f}"
