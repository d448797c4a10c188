"""`headwater run` with a stopwatch: times bare commits, runs until SIGTERM, and times them again.

`python -m benchmarks.rig.following CONFIG ROWS`: prints a JSON line of seconds before the run and one after
it. The commits go to tables beside the lake, through the same warm session.
"""

import json
import signal
import statistics
import sys
import threading
import time
from itertools import count
from pathlib import Path

import pandas as pd

from benchmarks.rig.orders import announce, iter_orders
from headwater.app import App
from headwater.app.run import Run
from headwater.capture.events_table import EventsTable
from headwater.config.loader import load_settings
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from headwater.observability.logging import configure_logging

_WARM_UP = 4
_COMMITS = 9
# As many as the run will have written halfway: an upsert rewrites the file.
_ROWS_THERE = 1_200


class BareCommits:
    """An events commit and a data commit of `rows` rows, one after the other."""

    def __init__(self, app: App, rows: int) -> None:
        beside = Path(app.settings.lake).parent / "beside"
        self._spark = app.spark
        self._rows = rows
        self._events = EventsTable(app.spark, str(beside / "events"))
        self._data = Table(app.spark, str(beside / "orders"))
        self._numbers = count()
        self._orders = iter_orders(0, 1)
        self._write_data(_ROWS_THERE)

    def measure(self) -> dict[str, float]:
        """Median seconds of each."""
        seconds = [(self._write_events(), self._write_data(self._rows)) for _ in range(_WARM_UP + _COMMITS)]
        events, data = zip(*seconds[_WARM_UP:], strict=True)
        return {"events": statistics.median(events), "data": statistics.median(data)}

    def _write_events(self) -> float:
        numbers = [next(self._numbers) for _ in range(self._rows)]
        batch = [announce("s3", "beside", f"orders/{n}.json", f"{n:032x}", 300, n) for n in numbers]
        started = time.monotonic()
        self._events.append(batch)
        return time.monotonic() - started

    def _write_data(self, rows: int) -> float:
        orders = pd.DataFrame([json.loads(next(self._orders)) for _ in range(rows)]).drop(columns="items")
        options = WriteOptions(table_name="orders", operation="upsert", record_key=("id",), ordering=("ts",))
        started = time.monotonic()
        self._data.write(self._spark.createDataFrame(orders), options)
        return time.monotonic() - started


def main(config: Path, rows: int) -> None:
    """Time, run, time."""
    configure_logging(False, json=False)
    stop = threading.Event()
    app = App(load_settings(config))
    commits = BareCommits(app, rows)
    print(json.dumps(commits.measure()), flush=True)
    # PySpark has put a handler of its own on signals when the session started.
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    Run(app).until(stop)
    print(json.dumps(commits.measure()), flush=True)
    app.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
