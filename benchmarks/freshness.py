"""How soon after its PUT is an object's row in the table, in commits?

For two minutes 20 objects a second are put to an S3 emulator whose bucket notifies a queue, while headwater
runs with one merge table. Value: seconds from just before the PUT to the completion time of the Hudi commit
that holds the row. Floor: one events commit plus one data commit of as many rows, on the same session right
before and after. Two results: the median and the 99th percentile. A row that never comes breaks both.
"""

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig import following
from benchmarks.rig.apps import write_config
from benchmarks.rig.commits import Commits
from benchmarks.rig.following import follow, read_timing
from benchmarks.rig.notified_bucket import open_notified_bucket
from benchmarks.rig.processes import wait_until
from benchmarks.sizes import sized

A_SECOND = 20
SECONDS = sized(120, 5)
WARM_UP = sized(104, 24)
# About what comes in during one cycle of commits.
ROWS_A_COMMIT = 40
_START_SECONDS = 180
_ARRIVE_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Freshness:
    """When each order was put and could be queried, by its id, and the seconds of two bare commits."""

    put_at: dict[int, float]
    queryable_at: dict[int, float]
    floor: float

    @property
    def broken(self) -> str:
        """What did not come."""
        missing = len(self.put_at.keys() - self.queryable_at.keys())
        return f"{missing} of {len(self.put_at)} rows did not come" if missing else ""

    def measure_percentiles(self) -> list[float]:
        """The first to the 99th percentile of the seconds of the rows that came."""
        came = self.put_at.keys() & self.queryable_at.keys()
        seconds = sorted(self.queryable_at[order] - self.put_at[order] for order in came)
        found = statistics.quantiles(seconds, n=100)
        shown = ", ".join(f"p{at} {found[at - 1]:.2f}" for at in (1, 25, 50, 75, 90, 99))
        say(f"seconds: {shown}, slowest {seconds[-1]:.2f}; floor {self.floor:.2f}")
        return found


def run() -> tuple[BenchmarkResult, BenchmarkResult]:
    """Seconds, and the seconds of two bare commits."""
    found = measure(["orders"])
    seconds = found.measure_percentiles()
    return (
        BenchmarkResult("freshness_p50", seconds[49], found.floor, "s", 2.0, "lower", found.broken),
        BenchmarkResult("freshness_p99", seconds[98], found.floor, "s", 5.0, "lower", found.broken),
    )


def measure(tables: Sequence[str]) -> Freshness:
    """Put orders to the folders of merge tables in turn, while headwater runs."""
    with open_notified_bucket() as bucket, ExitStack() as stack:
        configured = {
            name: {"path": f"{name}/*.json", "record_key": "id", "ordering": "ts"} for name in tables
        }
        config = write_config(bucket.folder, {"source": bucket.source, "tables": configured})
        process = stack.enter_context(
            follow(following.__name__, config, ROWS_A_COMMIT // len(tables), bucket.folder / "run.log")
        )
        commits = [stack.enter_context(Commits(bucket.folder / "lake" / name)) for name in tables]

        def count_rows() -> int:
            return sum(table.count_rows() for table in commits)

        before = read_timing(process)
        say(f"bare commits before: {before}")
        bucket.put_orders(tables, 0, WARM_UP, A_SECOND)
        wait_until(lambda: count_rows() == WARM_UP, _START_SECONDS, "the first rows", process)
        put_at = bucket.put_orders(tables, WARM_UP, A_SECOND * SECONDS, A_SECOND)
        try:
            everything = WARM_UP + len(put_at)
            wait_until(lambda: count_rows() == everything, _ARRIVE_SECONDS, "all rows", process)
        except TimeoutError as error:
            say(str(error))
        queryable_at = {order: at for table in commits for order, at in table.read_times("id").items()}
        process.terminate()
        after = read_timing(process)
        say(f"bare commits after: {after}; data commits: {sum(len(table.completed) for table in commits)}")
    floor = statistics.mean(timing["events"] + timing["data"] for timing in (before, after))
    return Freshness(put_at, queryable_at, floor)
