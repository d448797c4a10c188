"""Does a reader that is some minutes behind stay quick, however many commits the table has archived?

The events table of a run that commits once a second, after 1,000 seconds and after a million: the archive of
a real table, multiplied. Measured is what comes before the events of a page are read: the next 1,000 commits
and their metadata. Value: with a million commits archived, floor: with a thousand. Other sizes: `python -m
benchmarks.lake.archived_commits 100000`.
"""

import json
import shutil
import statistics
import sys
import time
from datetime import datetime, timedelta, timezone
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import open_folder_app
from benchmarks.rig.folders import write_files
from benchmarks.rig.orders import announce_files
from benchmarks.sizes import sized
from headwater.app import App
from headwater.lake.queries.instants import format_instant
from headwater.lake.table import Table
from headwater.lake.timeline.file_layout import VERSION_FILE

SIZES = sized((1_000, 1_000_000), (500, 1_000))
TABLES = {"orders": {"path": "orders/**/*.json", "mode": "mirror"}}
_COMMITS = 125
"""Enough that the events table archives some."""
_PAGE = 1_000
_BEHIND = timedelta(minutes=5)
_COMMITS_A_FILE = 200_000
_REPEATS = 5


def run() -> BenchmarkResult:
    """Seconds until the commits of a page are known."""
    small, large = measure(SIZES)
    return BenchmarkResult("archived_commits", large, small, "s", 2.0, "lower")


def measure(sizes: tuple[int, ...]) -> list[float]:
    """Seconds for each number of archived commits."""
    with open_folder_app(TABLES) as (app, folder):
        for number in range(_COMMITS):
            app.events.append(announce_files(folder / "landing", write_files(folder / "landing", [number])))
        archive = Path(app.events.path, ".hoodie", "timeline", "history")
        original = parquet.read_table(min(archive.glob("*.parquet")))
        return [measure_size(app, archive, original, size) for size in sizes]


def measure_size(app: App, archive: Path, original: pa.Table, size: int) -> float:
    """Seconds, the median of some; the first time, Spark compiles."""
    end = datetime.now(timezone.utc) - timedelta(hours=1)
    fill_archive(archive, original, end - timedelta(seconds=size), size)
    taken = []
    for _ in range(_REPEATS + 1):
        began = time.monotonic()
        table = Table(app.spark, app.events.path)
        found = list(islice(table.load_timeline().iter_metadata(format_instant(end - _BEHIND)), _PAGE))
        taken.append(time.monotonic() - began)
        expected = min(_PAGE, int(_BEHIND.total_seconds()))
        if len(found) < expected or "events" not in found[0][1]:
            raise RuntimeError(f"{len(found)} commits instead of {expected}")
    seconds = statistics.median(taken[1:])
    say(f"{size} archived commits: {seconds:.2f} s, the first time {taken[0]:.2f} s")
    return seconds


def fill_archive(archive: Path, original: pa.Table, first: datetime, size: int) -> None:
    """Replace the files of the archive by some with so many commits, one a second."""
    shutil.rmtree(archive)
    archive.mkdir()
    commit = next(row for row in original.to_pylist() if row["action"] == "commit")
    files = []
    for start in range(0, size, _COMMITS_A_FILE):
        times = [first + timedelta(seconds=n) for n in range(start, min(size, start + _COMMITS_A_FILE))]
        requested = [format_instant(moment) for moment in times]
        completed = [format_instant(moment + timedelta(milliseconds=400)) for moment in times]
        columns = {name: [commit[name]] * len(times) for name in original.column_names}
        columns |= {"instantTime": requested, "completionTime": completed}
        name = f"{requested[0]}_{requested[-1]}_4.parquet"
        parquet.write_table(pa.Table.from_pydict(columns, original.schema), archive / name)
        files.append({"fileName": name, "fileLen": (archive / name).stat().st_size})
    (archive / "manifest_1").write_text(json.dumps({"files": files}))
    (archive / VERSION_FILE).write_text("1")


if __name__ == "__main__":
    measure(tuple(map(int, sys.argv[1:])))
