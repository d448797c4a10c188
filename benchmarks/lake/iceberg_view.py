"""Does a commit of 20 files cost an Iceberg view about the same, however many files the table has?

A table of one real commit, whose data file is linked under many names, then commits of 20 more files, in one
process as in a run. Value: with 10,000 files, floor: with 1,000. Two results: files are added, and files are
replaced. Other sizes: `python -m benchmarks.lake.iceberg_view 100000`.
"""

import os
import statistics
import sys
import time
import uuid
from pathlib import Path

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import open_folder_app
from benchmarks.rig.folders import write_files
from benchmarks.rig.orders import announce_files
from benchmarks.sizes import sized
from headwater.app.objects.redrive import drain
from headwater.lake.file_store import FileStore
from headwater.lake.iceberg_view.view import IcebergView
from headwater.lake.layout import TableAddress

SIZES = sized((1_000, 10_000), (20, 40))
TABLES = {"orders": {"path": "orders/**/*.json", "mode": "mirror"}}
_CHANGED = 20
_REPEATS = 5
_APART = 1_000
"""Milliseconds between two commits."""


def run() -> list[BenchmarkResult]:
    """Seconds of an update after a commit."""
    small, large = measure(SIZES)
    return [
        BenchmarkResult(f"iceberg_view_{kind}", large[at], small[at], "s", 8.0, "lower")
        for at, kind in enumerate(("added", "replaced"))
    ]


def measure(sizes: tuple[int, ...]) -> list[tuple[float, float]]:
    """Seconds of updates with added and with replaced files, for each number of files."""
    with open_folder_app(TABLES) as (app, folder):
        app.events.append(announce_files(folder / "landing", write_files(folder / "landing", [1])))
        drain(app.build_pipeline("orders"))
        table = Path(app.settings.lake, "orders")
        return [measure_size(folder / f"views-{size}", LinkedTable(table, size)) for size in sizes]


class LinkedTable:
    """A table whose files are links of one data file."""

    def __init__(self, path: Path, files: int) -> None:
        self.path = path
        self._original = min(path.rglob("*.parquet"))
        self._commit = max((path / ".hoodie/timeline").glob("*_*.commit"))
        self._newest = int(self._commit.name.partition("_")[2].partition(".")[0])
        self._names: list[str] = []
        self.commit([f"{uuid.uuid4()}-0" for _ in range(files)])

    def add(self) -> None:
        """Commit new file groups."""
        self.commit([f"{uuid.uuid4()}-0" for _ in range(_CHANGED)])

    def replace(self) -> None:
        """Commit new versions of file groups."""
        self.commit(self._names[:_CHANGED])

    def commit(self, names: list[str]) -> None:
        self._newest += _APART
        for name in names:
            os.link(self._original, self._original.parent / f"{name}_0-1-1_{self._newest}.parquet")
        instant = f"{self._newest}_{self._newest + 1}.commit"
        (self._commit.parent / instant).write_bytes(self._commit.read_bytes())
        self._names = [name for name in self._names if name not in names] + names


def measure_size(address: Path, table: LinkedTable) -> tuple[float, float]:
    """Seconds of an update, the median of some."""
    view = IcebergView(TableAddress("orders", str(table.path)), FileStore(str(address), dict))
    first = measure_update(view)
    found = []
    for commit in (table.add, table.replace):
        taken = []
        for _ in range(_REPEATS):
            commit()
            taken.append(measure_update(view, _CHANGED))
        found.append(statistics.median(taken))
    say(f"{address.name}: first {first:.2f} s, added {found[0]:.2f} s, replaced {found[1]:.2f} s")
    return found[0], found[1]


def measure_update(view: IcebergView, added: int | None = None) -> float:
    """Seconds of one update."""
    began = time.monotonic()
    done = view.update()
    seconds = time.monotonic() - began
    if done is None or not done.is_changed or added not in (None, done.added):
        raise RuntimeError(f"{done} instead of {added} files")
    return seconds


if __name__ == "__main__":
    measure(tuple(map(int, sys.argv[1:])))
