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


def run_module(*words):
    command = [sys.executable, "-m", *words]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_in_small_and_prints_its_results(name):
    done = run_module("benchmarks.run", name, "--small")
    assert done.returncode == 0, done.stderr[-5_000:]
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert results
    assert all(result["ratio"] >= 0 for result in results)
    # Conditions other than the figure hold at any size: no row is lost, both answers are the same.
    assert [line for line in done.stderr.splitlines() if "] broken: " in line] == []


def test_soak_of_a_minute_ends_with_equal_tables_and_a_plot(tmp_path):
    plot, samples = tmp_path / "soak.svg", tmp_path / "soak.jsonl"
    written = ("--plot", str(plot), "--samples", str(samples))
    done = run_module("benchmarks.soak", "--minutes", "1", "--warm-up", "0.4", *written)
    # Whether a minute's memory is flat says nothing.
    assert done.returncode in (0, 1), done.stderr[-5_000:]
    assert "] broken: " not in done.stderr
    names = [json.loads(line)["name"] for line in done.stdout.splitlines()]
    assert names == [f"soak_{name}" for name in ("python", "jvm", "files", "threads", "temporary", "lag")]
    noted = [json.loads(line) for line in samples.read_text().splitlines()]
    assert len(noted) >= 5
    assert min(line["jvm"] for line in noted) > 100
    assert plot.read_text().startswith("<?xml")
