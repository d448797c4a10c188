"""Driver and executor in different processes, as on a cluster: nothing may assume that they share one."""

import json
import os
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.command import Finished, run_command
from tests.fixtures.written_files import write_parquet

SMALL = 70  # more than are fetched in the driver
LARGE_ROWS = 300


@pytest.mark.long
def test_run_on_one_executor_ingests_small_large_and_typed_objects(tmp_path: Path) -> None:
    landing, lake = tmp_path / "landing", tmp_path / "lake"
    for number in range(SMALL):
        write(landing / f"small/{number}.json", f'{{"n": {number}}}\n')
    write(landing / "large/a.json", "".join(f'{{"n": {n}, "s": "{"x" * 20}"}}\n' for n in range(LARGE_ROWS)))
    write(landing / "typed/a.parquet", write_parquet({"n": list(range(10))}))
    config = {
        "source": {"type": "local", "path": str(landing), "settle_seconds": 0},
        "lake": str(lake),
        "spark": {"master": "local-cluster[1,1,1024]"},
        "tables": {
            "small": {"path": "small/*.json"},
            "large": {"path": "large/*.json", "large_file_bytes": "1kb"},
            "typed": {"path": "typed/*.parquet"},
        },
    }
    file = tmp_path / "headwater.yaml"
    file.write_text(json.dumps(config))
    run = run_command("--config", str(file), "run", "--once", folder=tmp_path / "run", timeout=200).expect(0)
    assert "is read whole" not in run.stderr
    query = " union all ".join(
        f"select '{name}' as t, count(distinct n) as c from {name}" for name in config["tables"]
    )
    found = run_command("--config", str(file), "sql", query, "--json", folder=tmp_path / "sql").expect(0)
    counts = {row["t"]: row["c"] for row in map(json.loads, found.stdout.splitlines())}
    assert counts == {"small": SMALL, "large": LARGE_ROWS, "typed": 10}


# Called between the read of a batch and its write: the executor ends with the records it holds, and an object
# is overwritten. The executor's command line has the port of its driver.
LOSES_RECORDS = """
import os, signal
from pathlib import Path

def lose(records):
    kept = Path(os.environ["LANDING"]) / "5.json"
    if kept.read_text().count("1000"):
        return records
    kept.write_text('{"n": 1000}\\n{"n": 1001}\\n')
    port = records.sparkSession.sparkContext.getConf().get("spark.driver.port")
    commands = {file: file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists()}
    (executor,) = [
        int(file.parent.name)
        for file, command in commands.items()
        if b"CoarseGrainedExecutorBackend" in command and f":{port}".encode() in command
    ]
    os.kill(executor, signal.SIGKILL)
    return records
"""


@pytest.mark.slow
def test_objects_that_are_read_again_after_an_executor_ended_are_not_taken_for_what_they_were(
    tmp_path: Path,
) -> None:
    landing = tmp_path / "landing"
    for number in range(SMALL):
        write(landing / f"{number}.json", f'{{"n": {number}}}\n')
    write(tmp_path / "loses.py", LOSES_RECORDS)
    config = {
        "source": {"type": "local", "path": str(landing), "settle_seconds": 0},
        "lake": str(tmp_path / "lake"),
        "spark": {"master": "local-cluster[1,1,1024]"},
        "tables": {"numbers": {"path": "*.json", "transform": [{"python": "loses:lose"}]}},
    }
    file = tmp_path / "headwater.yaml"
    file.write_text(json.dumps(config))

    def run() -> Finished:
        environ = {**os.environ, "LANDING": str(landing)}
        return run_command(
            "--config", str(file), "run", "--once", folder=tmp_path / "run", environ=environ, timeout=200
        )

    assert "objects were read again after an executor ended" in run().expect(0).stderr
    run().expect(0)
    found = run_command(
        "--config", str(file), "sql", "select n from numbers", "--json", folder=tmp_path / "sql"
    )
    numbers = sorted(json.loads(line)["n"] for line in found.expect(0).stdout.splitlines())
    assert numbers == [*(n for n in range(SMALL) if n != 5), 1000, 1001]


def write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
