"""How long from starting the process to its first commit, beside bare PySpark with Hudi?

Ours: `headwater run --once` on a folder with one small file. Its first commit is that of the events table;
`first_rows` is measured in the same runs and goes on to the first commit of the data table, a second cold
write. Floor: a script that starts a session with the same settings, reads the same file with
`spark.read.json` and writes it with the same options. A process each, in turns.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from benchmarks.pairs import Pair, choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig import bare_session
from benchmarks.rig.apps import build_settings, write_config
from benchmarks.rig.commits import list_commits, parse_completion
from benchmarks.rig.orders import build_file
from benchmarks.rig.plain_spark import build_upsert_options
from benchmarks.sizes import sized
from headwater.config.environment import read_environment
from headwater.lake.layout import events_path
from headwater.lake.prerequisites.java import find_java
from headwater.lake.prerequisites.spark_settings import build_spark_settings

FILE_BYTES = 10_000
PAIRS = sized(3, 1)
TABLES = {"orders": {"path": "orders/*.json", "record_key": "id", "ordering": "ts"}}


def run() -> list[BenchmarkResult]:
    """Seconds from the start of the process to the completion of the commits."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "landing"
        (source / "orders").mkdir(parents=True)
        data, _ = build_file(FILE_BYTES, 0, 1)
        (source / "orders/1.json").write_bytes(data)
        runs = count(1)
        rows: list[float] = []

        def ours() -> float:
            first, second = run_once(folder / f"ours-{next(runs)}", source)
            rows.append(second)
            return first

        def floor() -> float:
            return run_bare(folder / f"floor-{next(runs)}", source)

        say("warm-up of the disk's cache")
        floor()
        pairs = measure_pairs(ours, floor, PAIRS)
    to_rows = choose_median([Pair(value, pair.floor) for value, pair in zip(rows, pairs, strict=True)])
    to_commit = choose_median(pairs)
    return [
        BenchmarkResult("first_rows", to_rows.value, to_rows.floor, "s", 1.6, "lower"),
        BenchmarkResult("first_commit", to_commit.value, to_commit.floor, "s", 1.3, "lower"),
    ]


def run_once(folder: Path, source: Path) -> tuple[float, float]:
    """Seconds until ours has committed the event, and until it has committed the rows."""
    folder.mkdir()
    settings = {"source": {"type": "local", "path": str(source)}, "tables": TABLES}
    config = write_config(folder, settings)
    command = [str(Path(sys.executable).parent / "headwater"), "--config", str(config), "run", "--once"]
    started = run_process(command, folder / "run.log")
    lake = folder / "lake"
    seconds = [find_first_commit(path) - started for path in (events_path(str(lake)), lake / "orders")]
    say(f"  ours: events after {seconds[0]:.1f} s, rows after {seconds[1]:.1f} s")
    return seconds[0], seconds[1]


def run_bare(folder: Path, source: Path) -> float:
    """Seconds of the script."""
    folder.mkdir()
    settings = build_settings(folder, {"type": "local", "path": str(source)}, TABLES)
    specification = {
        "spark": build_spark_settings(settings),
        "hudi": build_upsert_options("id", "ts"),
        "rows": str(source / "orders/1.json"),
        "table": str(folder / "orders"),
    }
    path = folder / "specification.json"
    path.write_text(json.dumps(specification), "utf-8")
    command = [sys.executable, str(bare_session.__file__), str(path)]
    started = run_process(command, folder / "run.log")
    return find_first_commit(folder / "orders") - started


def run_process(command: list[str], log: Path) -> float:
    """Run a process to its end; returns when it was started, in seconds of the wall clock."""
    environment = {**os.environ, "JAVA_HOME": str(find_java(read_environment()).path)}
    started = time.time()
    with log.open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=output, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{log.read_text('utf-8')[-2000:]}")
    return started


def find_first_commit(table: Path | str) -> float:
    """When the first commit of a table completed."""
    commits = list_commits(table)
    if not commits:
        raise RuntimeError(f"{table} has no commit")
    return parse_completion(commits[0])
