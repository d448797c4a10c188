"""How soon after its PUT is an object's row in the table if eight tables share the objects, in commits?

As `freshness`, with 20 objects a second to eight tables in turn. Each commit of the events table has events
of several tables, which then commit on the same cores. Value: seconds from the PUT to the commit with the
row, over the rows of all tables. Floor: one events commit plus one data commit, alone.
"""

from benchmarks.freshness import measure
from benchmarks.result import BenchmarkResult

TABLES = tuple(f"orders_{number}" for number in range(8))


def run() -> tuple[BenchmarkResult, BenchmarkResult]:
    """Seconds, and the seconds of two bare commits."""
    found = measure(TABLES)
    seconds = found.measure_percentiles()
    return (
        BenchmarkResult("freshness_eight_p50", seconds[49], found.floor, "s", 3.0, "lower", found.broken),
        BenchmarkResult("freshness_eight_p99", seconds[98], found.floor, "s", 8.0, "lower", found.broken),
    )
