"""How soon is a new object in a bucket of 100,000 a row: by its event, or by Spark's source, which lists?

The bucket is on `ministack`, an S3 emulator in Python, whose listings take about as long as those of S3 (said
on standard error). Old objects count for neither side: headwater begins with new ones, and Spark lists, but
does not read, objects whose names begin with `_`. Then one object every few seconds; value and floor are the
medians of the seconds from just before the PUT to the completion of the Hudi commit with the row. One side
after the other.
"""

import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig import file_stream
from benchmarks.rig.apps import write_config
from benchmarks.rig.commits import Commits
from benchmarks.rig.notified_bucket import NotifiedBucket, open_notified_bucket
from benchmarks.rig.processes import wait_until
from benchmarks.sizes import sized

OBJECTS = sized(100_000, 200)
NEW = sized(12, 2)
_WARM_UP = 2
_PAUSE_SECONDS = 4.0
_START_SECONDS = 300
_ARRIVE_SECONDS = 300
_FAST = 1e9
_PUT_THREADS = 4


def run() -> list[BenchmarkResult]:
    """Median seconds."""
    with open_notified_bucket() as bucket:
        _fill(bucket)
        bucket.clients.sqs.purge_queue(QueueUrl=bucket.source["queue"]["url"])
        say(f"one listing of the bucket takes {_list(bucket):.1f} s")
        source = {**bucket.source, "file_system_scheme": "s3a"}
        tables = {"orders": {"path": "orders/*.json", "record_key": "id", "ordering": "ts"}}
        reconcile = {"include_existing_files": False, "backfill_interval": 0}
        config = write_config(bucket.folder, {"source": source, "tables": tables, "reconcile": reconcile})
        ours = _measure(
            bucket, 0, bucket.folder / "lake" / "orders", ["headwater.cli.main", "--config", config, "run"]
        )
        table = bucket.folder / "stream" / "orders"
        stream = _measure(bucket, 1_000, table, [file_stream.__name__, config, table])
    return [BenchmarkResult("listing_vs_events", ours, stream, "s", 0.5, "lower")]


def _fill(bucket: NotifiedBucket) -> None:
    def put(number: int) -> None:
        bucket.clients.s3.put_object(Bucket=bucket.name, Key=f"orders/_{number:06d}.json", Body=b"{}\n")

    with ThreadPoolExecutor(_PUT_THREADS) as pool:
        for at, _ in enumerate(pool.map(put, range(OBJECTS))):
            if at % 20_000 == 0:
                say(f"{at} old objects")


def _list(bucket: NotifiedBucket) -> float:
    started = time.monotonic()
    pages = bucket.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket.name)
    found = sum(page["KeyCount"] for page in pages)
    if found < OBJECTS:
        raise RuntimeError(f"the bucket has {found} objects")
    return time.monotonic() - started


def _measure(bucket: NotifiedBucket, first: int, table: Path, words: Sequence[object]) -> float:
    """Median seconds from a PUT to its row, while a process follows the bucket."""
    with _following(words, bucket.folder / "process.log") as process, Commits(table) as commits:
        put_at: dict[int, float] = {}
        for number in range(first, first + _WARM_UP + NEW):
            expected = number - first + 1
            put_at |= bucket.put_orders(["orders"], number, 1, _FAST)
            patience = _START_SECONDS if expected == 1 else _ARRIVE_SECONDS
            wait_until(partial(_has_rows, commits, expected), patience, "the row", process)
            time.sleep(_PAUSE_SECONDS)
        came = commits.read_times("id")
    seconds = [came[order] - put_at[order] for order in range(first + _WARM_UP, first + _WARM_UP + NEW)]
    say(f"{words[0]}: {', '.join(f'{one:.2f}' for one in sorted(seconds))} s")
    return float(statistics.median(seconds))


def _has_rows(commits: Commits, expected: int) -> bool:
    return commits.count_rows() >= expected


@contextmanager
def _following(words: Sequence[object], log: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", *map(str, words)]
    with (
        log.open("a") as output,
        subprocess.Popen(command, stdout=output, stderr=output, text=True) as process,
    ):
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
