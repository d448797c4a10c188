"""How soon after a cold start does `headwater sql` give its first row, beside Spark?

Ours: `headwater sql --json` as a process, to its first row; no JVM is started. Floor: a script that starts a
session with the settings of a run, reads the same table and prints the same row. A process each, in turns, on
a table of 100,000 rows.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig import bare_session
from benchmarks.rig.apps import build_settings, open_app, write_config
from benchmarks.sizes import sized
from headwater.config.environment import read_environment
from headwater.lake.options import WriteOptions
from headwater.lake.prerequisites.java import find_java
from headwater.lake.prerequisites.spark_settings import build_spark_settings
from headwater.lake.table import Table

ROWS = sized(100_000, 1_000)
PAIRS = sized(5, 1)
GOAL = 0.1
TABLES = {"t": {"path": "*.json", "record_key": "id"}}
QUERY = "select id, amount from t where id = '77'"


def run(rows: int = ROWS, pairs: int = PAIRS) -> BenchmarkResult:
    """Seconds from the start of the process to its first row."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "landing").mkdir()
        source = {"type": "local", "path": str(folder / "landing")}
        settings = build_settings(folder, source, TABLES)
        with open_app(settings) as app:
            frame = app.spark.range(0, rows, numPartitions=2).select(
                F.col("id").cast("string").alias("id"), (F.col("id") % 1_000 / 10).alias("amount")
            )
            options = WriteOptions(table_name="t", operation="bulk_insert", record_key=("id",))
            Table(app.spark, str(folder / "lake/t")).write(frame, options)
        config = write_config(folder, {"source": source, "tables": TABLES})
        program = str(Path(sys.executable).parent / "headwater")
        command = [program, "--config", str(config), "sql", QUERY, "--json"]
        specification = folder / "specification.json"
        asked = {"spark": build_spark_settings(settings), "table": str(folder / "lake/t"), "query": QUERY}
        specification.write_text(json.dumps(asked), "utf-8")
        bare = [sys.executable, str(bare_session.__file__), str(specification)]
        say("warm-up of the disk's cache")
        wait_for_row(command)
        wait_for_row(bare)
        pair = choose_median(measure_pairs(lambda: wait_for_row(command), lambda: wait_for_row(bare), pairs))
    return BenchmarkResult("sql_no_jvm", pair.value, pair.floor, "s", GOAL, "lower")


def wait_for_row(command: Sequence[str]) -> float:
    """Seconds until a process has printed its first row. Raises `RuntimeError` when it is another one."""
    environment = {**os.environ, "JAVA_HOME": str(find_java(read_environment()).path)}
    started = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as done:
        assert done.stdout is not None
        # Where Spark starts, the first lines are of how it finds its jars.
        line = next((line for line in done.stdout if line.startswith(b"{")), b"")
        seconds = time.monotonic() - started
        done.communicate()
    if json.loads(line or "{}") != {"id": "77", "amount": 7.7}:
        raise RuntimeError(f"{command} printed {line!r}")
    return seconds
