"""What does the ledger cost a small batch?

25 new files a batch into a mirror, 40 batches in a row, so that the ledger is written several times. Ours:
the mean batch as it is. Floor: the same with a ledger that knows nothing, notes nothing and is never
written. One warm session, in turns, each on a lake of its own.
"""

import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.folders import write_files
from benchmarks.rig.orders import announce_files
from benchmarks.sizes import sized
from headwater.app import App
from headwater.capture.position import Position
from headwater.ingest.ledger.table_ledger import TableLedger
from headwater.ingest.pipeline import TablePipeline
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.lake.layout import table_path
from headwater.lake.table import Table

BATCH = sized(25, 5)
BATCHES = sized(40, 3)
WARM_UP = sized(5, 2)
PAIRS = sized(3, 1)
TABLES = {"orders": {"path": "orders/**/*.json", "mode": "mirror"}}


class NoLedger(TableLedger):
    """Knows of no object."""

    has_unconfirmed = False
    uncommitted = 0

    def find_states(self, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """None."""
        del object_ids
        return {}

    def record(self, outcomes: Sequence[ObjectOutcome]) -> None:
        """Nothing."""

    def build_metadata(self, outcomes: Sequence[ObjectOutcome] = ()) -> dict[str, str]:
        """Nothing."""
        del outcomes
        return {}

    def note_commit(self, position: Position) -> None:
        """Nothing."""

    def write_due(self) -> None:
        """Nothing."""


def run() -> BenchmarkResult:
    """Seconds a batch."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        landing = folder / "landing"
        source = {"type": "local", "path": str(landing)}
        write_files(landing, range(BATCH * BATCHES))
        with open_app(build_settings(folder, source, TABLES)) as app:
            trials = count()

            def ours(batches: int = BATCHES) -> float:
                return run_small(app, landing, folder / f"ours-{next(trials)}", batches, with_ledger=True)

            def floor(batches: int = BATCHES) -> float:
                return run_small(app, landing, folder / f"floor-{next(trials)}", batches, with_ledger=False)

            say(f"warm-up: ours {ours(WARM_UP):.2f} s, floor {floor(WARM_UP):.2f} s a batch")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return BenchmarkResult("ledger_cost", pair.value, pair.floor, "s", 1.25, "lower")


def run_small(app: App, landing: Path, lake: Path, batches: int, *, with_ledger: bool) -> float:
    """Mean seconds a batch, the first one aside: it makes the table."""
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    pipeline = own.build_pipeline("orders")
    if not with_ledger:
        table = Table(own.spark, table_path(own.settings.lake, "orders"))

        def build() -> TableLedger:
            return NoLedger("orders", own.stores.ledger, table, own.events, own._build_copy("orders"))

        ports = replace(pipeline._ports, build_ledger=build)
        pipeline = TablePipeline("orders", pipeline._rules, ports)
    total = 0.0
    for at in range(batches):
        keys = [f"orders/{n % 50:02d}/{n:07d}.json" for n in range(at * BATCH, (at + 1) * BATCH)]
        own.events.append(announce_files(landing, keys, at * BATCH))
        started = time.monotonic()
        result = pipeline.run_batch()
        seconds = time.monotonic() - started
        if result is None or result.objects["ingested"] != BATCH:
            raise RuntimeError(f"a batch of {BATCH} gave {result}")
        total += seconds if at else 0.0
    return total / (batches - 1)
