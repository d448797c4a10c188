"""Every benchmark still runs: each in its own process, with so few rows that only its exit code counts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.run import BENCHMARKS

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_in_small_and_prints_its_results(name):
    command = [sys.executable, "-m", "benchmarks.run", name, "--small"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5_000:]
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert results
    assert all(result["ratio"] >= 0 for result in results)
    # Conditions other than the figure hold at any size: no row is lost, both answers are the same.
    assert [line for line in done.stderr.splitlines() if "] broken: " in line] == []
