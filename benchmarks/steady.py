"""How much CPU does an event cost at a steady ten a second, from the queue to its row?

For a minute ten objects a second are put to an S3 emulator whose bucket notifies a queue, while headwater
runs with one merge table. Value: CPU time of its whole process tree (Python, JVM, workers) per event. Floor:
the CPU time of as many bare commits of the events table and of the data table as it made, on the same session
right after. At a low rate, the commits are the cost, and how many there are is the trade for freshness.
"""

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig import following
from benchmarks.rig.apps import write_config
from benchmarks.rig.commits import Commits
from benchmarks.rig.following import follow, read_timing
from benchmarks.rig.notified_bucket import open_notified_bucket
from benchmarks.rig.processes import read_cpu_seconds, wait_until
from benchmarks.sizes import sized

A_SECOND = 10
SECONDS = sized(60, 5)
WARM_UP = sized(300, 20)
"""The JVM compiles during the first batches."""
TABLE = "orders"
_START_SECONDS = 180
_ARRIVE_SECONDS = 90


def run() -> BenchmarkResult:
    """CPU seconds per event."""
    with open_notified_bucket() as bucket:
        tables = {TABLE: {"path": f"{TABLE}/*.json", "record_key": "id", "ordering": "ts"}}
        config = write_config(bucket.folder, {"source": bucket.source, "tables": tables})
        with (
            follow(following.__name__, config, A_SECOND, bucket.folder / "run.log") as process,
            Commits(bucket.folder / "lake" / TABLE) as data,
            Commits(bucket.folder / "lake" / "_headwater" / "events") as events,
        ):
            read_timing(process)
            bucket.put_orders([TABLE], 0, WARM_UP, A_SECOND)
            wait_until(lambda: data.count_rows() == WARM_UP, _START_SECONDS, "the first rows", process)
            cpu, made = read_cpu_seconds(process.pid), len(data.completed) + len(events.completed)
            count = len(bucket.put_orders([TABLE], WARM_UP, A_SECOND * SECONDS, A_SECOND))
            everything = WARM_UP + count
            wait_until(lambda: data.count_rows() == everything, _ARRIVE_SECONDS, "all rows", process)
            cpu = read_cpu_seconds(process.pid) - cpu
            made = len(data.completed) + len(events.completed) - made
            process.terminate()
            bare = read_timing(process)["cpu"] / 2
    say(f"{cpu:.1f} s of CPU for {count} events in {made} commits; a bare commit takes {bare:.3f} s")
    return BenchmarkResult("steady_cpu", cpu / count, made * bare / count, "s", 2.0, "lower")
