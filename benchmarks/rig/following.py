"""`headwater run` with a stopwatch: times bare commits, runs until SIGTERM, and times them again.

`python -m benchmarks.rig.following CONFIG ROWS`: prints a JSON line of seconds before the run and one after
it. The commits go to tables beside the lake, through the same warm session.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Protocol

import pandas as pd

from benchmarks.rig.orders import announce, iter_orders
from benchmarks.rig.processes import read_cpu_seconds
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


@contextmanager
def follow(module: str, config: Path, rows: int, log: Path) -> Iterator["subprocess.Popen[str]"]:
    """headwater in a process of its own, which tells what bare commits cost there; `module` is this one or
    another that calls `run_timed`."""
    command = [sys.executable, "-m", module, str(config), str(rows)]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def read_timing(process: "subprocess.Popen[str]") -> dict[str, float]:
    """The next line that the process prints."""
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise RuntimeError("headwater ended before it was asked to")
    return dict(json.loads(line))


def measure_steps(steps: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Median seconds of each; they take turns, and the first rounds do not count."""
    rounds = [[step() for step in steps.values()] for _ in range(_WARM_UP + _COMMITS)]
    medians = map(statistics.median, zip(*rounds[_WARM_UP:], strict=True))
    return dict(zip(steps, medians, strict=True))


class Stopwatch(Protocol):
    """Times what the run is compared with."""

    def measure(self) -> dict[str, float]:
        """Seconds, by step."""


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
        """Median seconds of each, and the CPU seconds of both (`cpu`), the first rounds included."""
        steps = {"events": self._write_events, "data": lambda: self._write_data(self._rows)}
        before = read_cpu_seconds(os.getpid())
        seconds = measure_steps(steps)
        return {**seconds, "cpu": (read_cpu_seconds(os.getpid()) - before) / (_WARM_UP + _COMMITS)}

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


def run_timed(config: Path, build: Callable[[App], Stopwatch]) -> None:
    """Time, run, time."""
    configure_logging(False, json=False)
    stop = threading.Event()
    app = App(load_settings(config))
    bare = build(app)
    print(json.dumps(bare.measure()), flush=True)
    # PySpark has put a handler of its own on signals when the session started.
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    Run(app).until(stop)
    print(json.dumps(bare.measure()), flush=True)
    app.close()


if __name__ == "__main__":
    run_timed(Path(sys.argv[1]), lambda app: BareCommits(app, int(sys.argv[2])))
