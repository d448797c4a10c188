"""What do writers of the same files lose to conflicts with each kind of concurrency control?

Merge-on-read tables with a bucket index. Several threads of one session, each with keys of its own, commit
upserts that touch every file group, with an `in_process` lock. A rejected attempt is repeated at once.
`concurrency_optimistic` detects a conflict at the commit, `concurrency_early` also during the write
(`early_conflict_detection`); `concurrency_non_blocking` has no conflicts. Value: seconds until all commits
have completed. Floor: one writer makes the same commits, one after the other; the mean of a run before and
a run after. `_attempts` is the number of attempts per commit; a single writer needs one.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import functions as F

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.tables import Lake, build_orders, open_lake
from benchmarks.sizes import sized
from headwater.errors import LakeError

WRITERS = sized(3, 2)
COMMITS = sized(6, 1)
ROWS = sized(5_000, 50)
BUCKETS = sized(4, 2)
MOST_ATTEMPTS = 60
CONFIG = {
    "record_key": "id",
    "ordering": "at",
    "table_type": "merge_on_read",
    "index": {"type": "bucket", "buckets": BUCKETS},
}
EARLY = {"hoodie.write.concurrency.early.conflict.detection.enable": "true"}
MODES = {
    "optimistic": CONFIG,
    "early": {**CONFIG, "hoodie": EARLY},
    "non_blocking": {**CONFIG, "concurrency": "non_blocking"},
}
SINGLE = "single"
GOALS = {"optimistic": 4.0, "early": 4.0, "non_blocking": 1.5}
ATTEMPT_GOALS = {"optimistic": 4.0, "early": 8.0, "non_blocking": 1.0}


@dataclass(frozen=True, slots=True)
class Measured:
    """How long all commits took, and how many attempts were discarded."""

    seconds: float
    discarded: int


def run() -> list[BenchmarkResult]:
    """Seconds and attempts, for each kind of concurrency control."""
    with open_lake({SINGLE: CONFIG, **MODES}, lock={"provider": "in_process"}) as lake:
        for name in (SINGLE, *MODES):
            rows = build_orders(lake.spark, 0, WRITERS * ROWS)
            lake.open_table(name).write(rows, lake.build_options(name))
            write_all(lake, name, [0], range(1))
        first = measure(lake, SINGLE, 1)
        measured = {mode: measure(lake, mode, WRITERS) for mode in MODES}
        floor = (first.seconds + measure(lake, SINGLE, 1).seconds) / 2
        return [
            result
            for mode in MODES
            for result in build_results(mode, measured[mode], floor, check(lake, mode))
        ]


def build_results(mode: str, measured: Measured, floor: float, broken: str) -> list[BenchmarkResult]:
    """Return the seconds and the attempts of one kind of concurrency control."""
    label, commits = f"concurrency_{mode}", WRITERS * COMMITS
    attempts = (commits + measured.discarded) / commits
    note = f"{measured.discarded} attempts discarded for {commits} commits"
    goal, most = GOALS[mode], ATTEMPT_GOALS[mode]
    return [
        BenchmarkResult(label, measured.seconds, floor, "s", goal, "lower", broken, note),
        BenchmarkResult(f"{label}_attempts", attempts, 1, "attempts per commit", most, "lower", broken),
    ]


def measure(lake: Lake, name: str, threads: int) -> Measured:
    """Make the commits of all writers with so many threads."""
    writers = [list(range(WRITERS))[at::threads] for at in range(threads)]
    started = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        done = [pool.submit(write_all, lake, name, own, range(1, COMMITS + 1)) for own in writers]
        discarded = sum(one.result() for one in done)
    measured = Measured(time.monotonic() - started, discarded)
    say(f"{name}: {measured}")
    return measured


def write_all(lake: Lake, name: str, writers: Sequence[int], turns: Sequence[int]) -> int:
    """Make the commits of some writers; returns the number of rejected attempts."""
    table, options, discarded = lake.open_table(name), lake.build_options(name), 0
    for turn in turns:
        for writer in writers:
            rows = build_orders(lake.spark, writer * ROWS, ROWS, turn)
            for _ in range(MOST_ATTEMPTS):
                try:
                    table.write(rows, options)
                    break
                except LakeError:
                    # A conflict, or a rollback of the same write by two writers at once: a run retries both.
                    discarded += 1
            else:
                raise RuntimeError(f"{threading.current_thread().name}: {MOST_ATTEMPTS} attempts rejected")
    return discarded


def check(lake: Lake, name: str) -> str:
    """Return what is wrong with the rows: all of them have to be in the state of the last commit."""
    newest = F.count(F.when(F.col("at") == COMMITS, 1)).alias("newest")
    found = lake.open_table(name).read().agg(F.count("*").alias("rows"), newest).first()
    assert found is not None
    is_right = found["rows"] == found["newest"] == WRITERS * ROWS
    return "" if is_right else f"{found['rows']} rows, {found['newest']} of them newest, not {WRITERS * ROWS}"
