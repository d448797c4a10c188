"""Does a restart stay quick, whatever the number of objects that a table knows?

A ledger knows 100,000 and 2,000,000 objects. Each size: the first start on this machine, which copies the
ledger, and a second one, which finds the copy: seconds until the states of 25 objects are there. Value: the
second start with the most objects. Floor: the second start with the fewest. The copy's bytes per object and
the microseconds per object of the first start are printed. Other sizes: `python -m
benchmarks.objects.ledger_restart 10000000`.
"""

import hashlib
import sys
import time
from pathlib import Path

from benchmarks.objects.verify import fill_ledger
from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import open_folder_app
from benchmarks.rig.known_objects import commit_first
from benchmarks.sizes import sized
from headwater.app import App
from headwater.ingest.ledger.copy_files import find_copy_file
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.table_ledger import TableLedger
from headwater.lake.layout import table_path
from headwater.lake.table import Table

SIZES = sized((100_000, 2_000_000), (100, 1_000))
ASKED = 25
TABLES = {"orders": {"path": "orders/**/*.json", "mode": "mirror"}}


def run() -> BenchmarkResult:
    """Seconds of the second start."""
    small, large = measure(SIZES)
    return BenchmarkResult("ledger_restart", large, small, "s", 3.0, "lower")


def measure(sizes: tuple[int, ...]) -> list[float]:
    """Seconds of the second start for each size, one after the other in one session."""
    with open_folder_app(TABLES) as (app, folder):
        return [measure_size(app, folder, size) for size in sizes]


def measure_size(app: App, folder: Path, size: int) -> float:
    """Seconds of the second start."""
    own = App(app.settings.model_copy(update={"lake": str(folder / f"lake-{size}")}), spark=app.spark)
    fill_ledger(own, size, commit_first(own, folder / "landing"))
    file = find_copy_file(folder, str(own.settings.lake), "orders")
    first, second = (start(own, file) for _ in range(2))
    per_object = file.stat().st_size / size
    say(
        f"{size} objects: first start {first:.2f} s, {first / size * 1e6:.2f} us and {per_object:.0f} bytes "
        f"per object; second start {second:.4f} s"
    )
    return second


def start(app: App, file: Path) -> float:
    """Seconds until a new process of this machine would have the states of some objects."""
    began, local = time.monotonic(), LocalStates(file)
    table = Table(app.spark, table_path(app.settings.lake, "orders"))
    ledger = TableLedger("orders", app.stores.ledger, table, app.events, local)
    known = ledger.find_states([hashlib.md5(b"%d" % number).hexdigest() for number in range(ASKED)])
    seconds = time.monotonic() - began
    local.close()
    if len(known) != ASKED:
        raise RuntimeError(f"of {ASKED} objects, the ledger knows {len(known)}")
    return seconds


if __name__ == "__main__":
    measure(tuple(map(int, sys.argv[1:])))
