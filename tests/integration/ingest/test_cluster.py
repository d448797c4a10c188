"""Driver and executor in different processes, as on a cluster: nothing may assume that they share one."""

import json
from pathlib import Path

import pytest

from tests.fixtures.end_to_end.command import run_command
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


def write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
