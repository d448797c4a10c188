"""How long from starting the process to the first rows in a table, beside bare PySpark with Hudi?

Ours: `headwater run --once` on a folder with one small file, until the data table's first commit completed;
before that it has committed the event. Floor: a script that starts a session with the same settings, reads
the same file with `spark.read.json` and writes it with the same options. A process each, in turns.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig import bare_session
from benchmarks.rig.apps import build_settings, write_config
from benchmarks.rig.commits import list_commits, parse_completion
from benchmarks.rig.orders import build_file
from benchmarks.rig.plain_spark import build_upsert_options
from headwater.config.environment import read_environment
from headwater.lake.java import find_java
from headwater.lake.layout import events_path
from headwater.lake.session import build_spark_settings

FILE_BYTES = 10_000
PAIRS = 3
TABLES = {"orders": {"path": "orders/*.json", "record_key": "id", "ordering": "ts"}}


def run() -> BenchmarkResult:
    """Seconds from the start of the process to the completion of the commit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "landing"
        (source / "orders").mkdir(parents=True)
        data, _ = build_file(FILE_BYTES, 0, 1)
        (source / "orders/1.json").write_bytes(data)
        runs = count(1)

        def ours() -> float:
            return run_once(folder / f"ours-{next(runs)}", source)

        def floor() -> float:
            return run_bare(folder / f"floor-{next(runs)}", source)

        say("warm-up of the disk's cache")
        floor()
        pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return BenchmarkResult("first_commit", pair.value, pair.floor, "s", 1.3, "lower")


def run_once(folder: Path, source: Path) -> float:
    """Seconds of ours."""
    folder.mkdir()
    settings = {"source": {"type": "local", "path": str(source)}, "tables": TABLES}
    config = write_config(folder, settings)
    command = [str(Path(sys.executable).parent / "headwater"), "--config", str(config), "run", "--once"]
    seconds = run_until_commit(command, folder / "lake" / "orders", folder / "run.log")
    first = [
        list_commits(path)[0] for path in (folder / "lake" / "orders", events_path(str(folder / "lake")))
    ]
    behind = parse_completion(first[0]) - parse_completion(first[1])
    say(f"  the data commit completed {behind:.1f} s after the events commit")
    return seconds


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
    return run_until_commit(command, folder / "orders", folder / "run.log")


def run_until_commit(command: list[str], table: Path, log: Path) -> float:
    """Run a process to its end; seconds from its start to the completion of the table's first commit."""
    environment = {**os.environ, "JAVA_HOME": str(find_java(read_environment()).path)}
    started = time.time()
    with log.open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=output, env=environment, check=False)
    commits = list_commits(table)
    if done.returncode or not commits:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{log.read_text('utf-8')[-2000:]}")
    return parse_completion(commits[0]) - started
