"""Run all benchmarks or one: `python -m benchmarks.run [NAME] [--small]`, or `make bench B=NAME`.

`--small` runs each with so few rows that the figures mean nothing: it only shows that a benchmark works.
Standard output has one JSON object a result, progress goes to standard error. Exit codes: 0 measured
(whether a goal is met is in the result), 1 a benchmark failed to run, 2 there is no such benchmark.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.sizes import SMALL_VARIABLE

ROOT = Path(__file__).parents[1]

BENCHMARKS = (
    "capture_throughput",
    "capture_pubsub",
    "capture_azure",
    "events_commit",
    "idle",
    "ingest_large",
    "ingest_small",
    "cluster",
    "freshness",
    "freshness_eight",
    "listing_vs_events",
    "steady",
    "first_commit",
    "mirror_overwrite",
    "changes",
    "dumps",
    "kafka",
    "ledger_cost",
    "cost_slope",
    "ledger_restart",
    "reconcile_history",
    "skipping",
    "fold",
    "many_tables",
    "deduplication",
    "many_commits",
    "archived_commits",
    "iceberg_view",
    "commit_floor",
    "incremental_read",
    "joined_tables",
    "cdc_read",
    "sql_no_jvm",
    "operations",
    "index_types",
    "table_types",
    "snapshot_vs_read_optimized",
    "layouts",
    "sql_pruning",
    "concurrency",
    "help_cpu",
    "services_overhead",
    "verify",
    "poison",
    "embed",
    "build",
    "sync",
    "reuse",
    "restart",
    "serve_start",
    "answer_freshness",
    "search",
)
"""Each is a module here or in a folder below: its docstring says what it asks, its `run()` gives results."""

_LIMIT_SECONDS = 1800
_IN_THIS_PROCESS = "--in-this-process"
_SMALL = "--small"
_BROKEN = "broken: "


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; returns the exit code."""
    if arguments[:1] == [_IN_THIS_PROCESS]:
        return run_in_this_process(arguments[1])
    is_small = _SMALL in arguments
    names = [name for name in arguments if name != _SMALL]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    failed = [name for name in names or BENCHMARKS if not run_in_own_process(name, is_small=is_small)]
    if failed:
        print(f"not measured: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def find_module(name: str) -> Path:
    """The file of a benchmark."""
    found = (ROOT / "benchmarks" / folder / f"{name}.py" for folder in ("", "objects", "lake", "search"))
    return next(path for path in found if path.exists())


def read_question(name: str) -> str:
    """The first line of a benchmark's docstring; the module is not run."""
    source = find_module(name).read_text("utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def run_in_own_process(name: str, *, is_small: bool = False) -> bool:
    """Run one benchmark where no other one's JVM is warm; prints its results. False when it failed."""
    say(f"{name}: {read_question(name)}")
    command = [sys.executable, "-m", "benchmarks.run", _IN_THIS_PROCESS, name]
    environment = {**os.environ, SMALL_VARIABLE: "1"} if is_small else None
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        say(f"{name}: not done after {_LIMIT_SECONDS} s")
        return False
    print(done.stdout, end="", flush=True)
    return done.returncode == 0 and bool(done.stdout)


def run_in_this_process(name: str) -> int:
    """Print the results of one benchmark; whatever else writes to standard output goes to standard error."""
    results_only = os.dup(1)
    os.dup2(2, 1)
    module = find_module(name).relative_to(ROOT).with_suffix("")
    found = import_module(".".join(module.parts)).run()
    results = [found] if isinstance(found, BenchmarkResult) else list(found)
    with os.fdopen(results_only, "w") as output:
        for result in results:
            if result.broken:
                say(f"{_BROKEN}{result.name}: {result.broken}")
            print(result.to_json(), file=output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
