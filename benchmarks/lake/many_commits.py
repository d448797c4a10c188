"""Do the last commits of a table with many small ones take longer than its first?

One file a commit, with a row of its own and one that it changes, into a merge table; each file is an event
that is committed by itself. Ours: the median of the last commits of the events table, and of the data table.
Floor: that of the first ones, after a warm-up. What cleans and archives on the way is in the figures.

`python -m benchmarks.lake.many_commits EVENTS BATCHES` makes more of them than `make bench` has time for:
that many commits of the events table, the first ones each with a batch of the data table.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.orders import announce_files
from benchmarks.sizes import sized
from headwater.app import App

COMMITS = sized(300, 6)
WARM_UP = sized(20, 1)
WINDOW = sized(100, 2)
CHANGED_ROWS = 50
GOAL = 1.2
TABLES = {"orders": {"path": "*.json", "record_key": "id"}}


def run(events: int = COMMITS, batches: int = COMMITS) -> list[BenchmarkResult]:
    """Seconds a commit of the events table, and of the data table, after as many as are asked for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        landing = folder / "landing"
        landing.mkdir()
        settings = build_settings(folder, {"type": "local", "path": str(landing)}, TABLES)
        with open_app(settings) as app:
            of_events, of_batches = commit_one_by_one(app, landing, WARM_UP + events, WARM_UP + batches)
    return [
        compare("many_commits_events", of_events[WARM_UP:]),
        compare("many_commits_data", of_batches[WARM_UP:]),
    ]


def commit_one_by_one(
    app: App, landing: Path, event_commits: int, batch_commits: int
) -> tuple[list[float], list[float]]:
    """Seconds of each commit of the events table, and of each batch of the data table."""
    pipeline = app.build_pipeline("orders")
    events: list[float] = []
    batches: list[float] = []
    for number in range(event_commits):
        key = f"{number:07d}.json"
        rows = ({"id": f"new-{number}", "n": number}, {"id": f"old-{number % CHANGED_ROWS}", "n": number})
        (landing / key).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        started = time.monotonic()
        app.events.append(announce_files(landing, [key], number))
        appended = time.monotonic()
        events.append(appended - started)
        if number < batch_commits:
            pipeline.run_batch()
            batches.append(time.monotonic() - appended)
        if number % 50 == 49:
            say(f"{number + 1}: {median(events[-50:]):.2f} s and {median(batches[-50:]):.2f} s a commit")
    return events, batches


def compare(name: str, seconds: Sequence[float]) -> BenchmarkResult:
    """The last of them beside the first."""
    window = min(WINDOW, len(seconds) // 3)
    return BenchmarkResult(name, median(seconds[-window:]), median(seconds[:window]), "s", GOAL, "lower")


if __name__ == "__main__":
    for result in run(*map(int, sys.argv[1:])):
        print(result.to_json())
