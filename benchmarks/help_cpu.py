"""How much CPU does `headwater --help` use, beside an empty Python program?

Ours: user and system time of `headwater --help` as a process. Floor: the same of `python -c pass`. Each is
the least of several runs, because a busy machine only adds to it. The two alternate.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs
from benchmarks.result import BenchmarkResult
from benchmarks.sizes import sized

PAIRS = sized(5, 1)
RUNS = sized(7, 1)
GOAL = 12


def run(pairs: int = PAIRS, runs: int = RUNS) -> BenchmarkResult:
    """CPU seconds of one process."""
    program = str(Path(sys.executable).parent / "headwater")
    pair = choose_median(
        measure_pairs(
            lambda: min(read_cpu([program, "--help"]) for _ in range(runs)),
            lambda: min(read_cpu([sys.executable, "-c", "pass"]) for _ in range(runs)),
            pairs,
        )
    )
    return BenchmarkResult("help_cpu", pair.value, pair.floor, "s", GOAL, "lower")


def read_cpu(command: Sequence[str]) -> float:
    """CPU seconds of a command. Raises `RuntimeError` when it fails."""
    # Not `subprocess.run`: only wait4 says what one process has used.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
