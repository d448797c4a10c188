"""Checks that each test marked `long` passed within the last week: CI runs only a seventh of them a commit.

`python scripts/check_release.py` prints one line a finding and exits 1 when there is one.
`tests/long_passes.txt` has one line a test, `2026-01-31 tests/...`, sorted by test. pytest writes it with
--record-passes, which `make test-long`, `make test-tables` and `make test-seventh` pass.
"""

import datetime as dt
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSES = Path("tests/long_passes.txt")
MAX_AGE = dt.timedelta(days=7)


def read_passes(file: Path) -> dict[str, dt.date]:
    """Test to date of its last pass; empty without the file. Raises `ValueError` for any other line."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    records = (line.split(" ", 1) for line in lines)
    return {test: dt.date.fromisoformat(date) for date, test in records}


def write_passes(file: Path, passes: Mapping[str, dt.date]) -> None:
    """Replace the file as a whole: another run may read it at any time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text("".join(f"{date} {test}\n" for test, date in sorted(passes.items())), "utf-8")
    part.replace(file)


def list_long_tests(root: Path) -> list[str]:
    """Their names. Raises `SystemExit` when pytest cannot collect any."""
    command = [sys.executable, "-m", "pytest", "tests", "-m", "long", "--collect-only", "-q", "-n", "0"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the long tests cannot be collected:\n{done.stdout}{done.stderr}")
    return [line for line in done.stdout.splitlines() if "::" in line]


def list_findings(tests: Iterable[str], passes: Mapping[str, dt.date], today: dt.date) -> list[str]:
    """One line for each test without a pass, with an old one, and for each record without a test."""
    expected = set(tests)
    findings = []
    for test in sorted(expected):
        if test not in passes:
            findings.append(f"{test}: no pass is recorded")
        elif today - passes[test] > MAX_AGE:
            findings.append(f"{test}: last passed on {passes[test]}")
    gone = sorted(passes.keys() - expected)
    return findings + [f"{test}: no long test has this name; delete its line" for test in gone]


def main() -> int:
    """Exit code 1 when something is to be done before the release."""
    try:
        passes = read_passes(ROOT / PASSES)
    except ValueError as error:
        raise SystemExit(f"{PASSES}: {error}; each line is a date, a space and a test") from None
    findings = list_findings(list_long_tests(ROOT), passes, dt.datetime.now(dt.timezone.utc).date())
    for finding in findings:
        print(finding)
    if findings:
        print(f"{PASSES}: {len(findings)} findings")
        print("Run make test-long and make test-tables: they record each pass.")
        print("A test that is skipped needs another machine. Single tests: make test-long ARGS='-k word'.")
    else:
        print(f"all long tests passed within {MAX_AGE.days} days")
    print("Also run before a release: make mutants")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
