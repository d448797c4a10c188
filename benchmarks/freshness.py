"""How soon after its PUT is an object's row in the table, in commits?

For two minutes 20 objects a second are put to an S3 emulator whose bucket notifies a queue, while headwater
runs with one merge table. Value: seconds from just before the PUT to the completion time of the Hudi commit
that holds the row. Floor: one events commit plus one data commit of as many rows, on the same session right
before and after. Two results: the median and the 99th percentile. A row that never comes breaks both.
"""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig import following
from benchmarks.rig.apps import write_config
from benchmarks.rig.commits import Commits
from benchmarks.rig.following import follow, read_timing
from benchmarks.rig.notified_bucket import open_notified_bucket
from benchmarks.rig.orders import iter_orders
from benchmarks.rig.processes import wait_until
from benchmarks.sizes import sized
from headwater.demo.landing_zone import Clients

A_SECOND = 20
SECONDS = sized(120, 5)
WARM_UP = sized(100, 20)
# About what comes in during one cycle of commits.
ROWS_A_COMMIT = 40
TABLES = {"orders": {"path": "orders/**/*.json", "record_key": "id", "ordering": "ts"}}
_PUT_THREADS = 4
_START_SECONDS = 180
_ARRIVE_SECONDS = 90


def run() -> tuple[BenchmarkResult, BenchmarkResult]:
    """Seconds, and the seconds of two bare commits."""
    with open_notified_bucket() as bucket:
        folder, clients = bucket.folder, bucket.clients
        config = write_config(folder, {"source": bucket.source, "tables": TABLES})
        with (
            follow(following.__name__, config, ROWS_A_COMMIT, folder / "run.log") as process,
            Commits(folder / "lake" / "orders") as commits,
        ):
            before = read_timing(process)
            say(f"bare commits before: {before}")
            put_orders(clients, bucket.name, 0, WARM_UP)
            wait_until(lambda: commits.count_rows() == WARM_UP, _START_SECONDS, "the first rows", process)
            put_at = put_orders(clients, bucket.name, WARM_UP, A_SECOND * SECONDS)
            everything = WARM_UP + len(put_at)
            try:
                wait_until(lambda: commits.count_rows() == everything, _ARRIVE_SECONDS, "all rows", process)
            except TimeoutError as error:
                say(str(error))
            queryable_at = commits.read_times("id")
            process.terminate()
            after = read_timing(process)
            say(f"bare commits after: {after}; data commits meanwhile: {len(commits.completed)}")
    return build_results(put_at, queryable_at, [before, after])


def build_results(
    put_at: dict[int, float], queryable_at: dict[int, float], timings: list[dict[str, float]]
) -> tuple[BenchmarkResult, BenchmarkResult]:
    """Percentiles over the rows that came."""
    seconds = sorted(queryable_at[number] - at for number, at in put_at.items() if number in queryable_at)
    floor = statistics.mean(timing["events"] + timing["data"] for timing in timings)
    missing = len(put_at) - len(seconds)
    broken = f"{missing} of {len(put_at)} rows did not come" if missing else ""
    percentiles = statistics.quantiles(seconds, n=100)
    shown = ", ".join(f"p{at} {percentiles[at - 1]:.2f}" for at in (1, 25, 50, 75, 90, 99))
    say(f"seconds: {shown}, slowest {seconds[-1]:.2f}; floor {floor:.2f}")
    return (
        BenchmarkResult("freshness_p50", percentiles[49], floor, "s", 2.0, "lower", broken),
        BenchmarkResult("freshness_p99", percentiles[98], floor, "s", 5.0, "lower", broken),
    )


def put_orders(clients: Clients, bucket: str, first: int, count: int) -> dict[int, float]:
    """Put one object an order at the pace; returns when each PUT began, by order id."""
    orders = islice(iter_orders(first, first), count)
    began: dict[int, float] = {}

    def put(number: int, order: str) -> None:
        began[number] = time.time()
        clients.s3.put_object(Bucket=bucket, Key=f"orders/{number:06d}.json", Body=order.encode() + b"\n")

    started = time.monotonic()
    with ThreadPoolExecutor(_PUT_THREADS) as pool:
        puts = []
        for at, order in enumerate(orders):
            time.sleep(max(0.0, started + at / A_SECOND - time.monotonic()))
            puts.append(pool.submit(put, first + at, order))
        for done in puts:
            done.result()
    say(f"put {count} objects in {time.monotonic() - started:.1f} s")
    return began
