"""A commit chooses a seventh of the long tests, and a run ends in time without a failure."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.plugins.seventh import choose_part, order_files, parse_commit

ROOT = Path(__file__).parents[3]
NAMES = [f"tests/test_{file}.py::test_{test}" for file in range(9) for test in range(5)]
SETTINGS = "[pytest]\nmarkers = long\n"
TESTS = """
import pytest, time

@pytest.fixture(scope="module")
def session():
    under_way = []
    yield under_way
    assert not under_way

@pytest.mark.long
@pytest.mark.parametrize("at", range(14))
def test_long(session, at):
    if at == {hangs}:
        session.append(at)
        time.sleep(60)

def test_quick():
    pass
"""

# The deadline counts from the first test: starting up takes as long as the machine likes.
CONFTEST = """
import time

def pytest_runtest_protocol(item):
    if "test_long[0]" in item.nodeid:
        assert item.config.option.end_at > time.time()
        item.config.option.end_at = time.time() + 3
"""


def run_seventh(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(SETTINGS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugins.seventh", "-ra", "-v", *options]
    arguments = [
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        "-c",
        str(folder / "pytest.ini"),
        str(folder),
    ]
    return subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )


def test_every_long_test_is_in_exactly_one_of_seven_parts() -> None:
    parts = [choose_part(reversed(NAMES), commit) for commit in ("0", "1", "2", "3", "4", "5", "6")]
    assert Counter(name for part in parts for name in part) == Counter(NAMES)
    assert {len(part) for part in parts} == {6, 7}


def test_the_hash_of_the_commit_modulo_seven_chooses_the_part() -> None:
    commit = "4761fd17e830b59d58c3173c85f1ba90289153a0"
    assert choose_part(NAMES, commit) == choose_part(NAMES, format(int(commit, 16) % 7, "x"))


def test_each_commit_has_an_order_of_the_files() -> None:
    files = [f"test_{at}.py" for at in range(20)]
    first, again, other = (order_files(files, commit) for commit in ("a1", "a1", "a2"))
    assert first == again != other
    assert sorted(first) == sorted(other) == sorted(files)


def test_a_run_takes_the_long_tests_of_the_part(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS.format(hangs=None))
    done = run_seventh(tmp_path, "--seventh-of=8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"::(\S+) PASSED", done.stdout) == ["test_long[4]", "test_long[10]"]
    assert "13 deselected" in done.stdout


def test_a_commit_orders_the_files_of_a_run_that_takes_all_tests(tmp_path: Path) -> None:
    names = [f"test_{at}.py" for at in range(5)]
    for name in names:
        (tmp_path / name).write_text(TESTS.format(hangs=None))
    done = run_seventh(tmp_path, "--order-of=a1", "-k", "quick")
    assert re.findall(r"(\w+\.py)::test_quick PASSED", done.stdout) == order_files(names, "a1")


def test_invalid_commit_is_rejected() -> None:
    with pytest.raises(pytest.UsageError, match=r"--seventh-of=main: not a hash; .* git rev-parse HEAD"):
        choose_part(NAMES, "main")
    with pytest.raises(pytest.UsageError, match=r"--order-of=main: not a hash"):
        parse_commit("main", "--order-of")


@pytest.mark.slow
def test_tests_beyond_the_time_limit_are_listed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for at in range(2):
        (tmp_path / f"test_{at}.py").write_text(TESTS.format(hangs=1))
    done = run_seventh(tmp_path, "--end-after=5", "--timeout=60", "-m", "long", "-n", "2", "--dist=loadfile")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^test_\d.py::test_long\[(\d+)\]: .* over (\w+)", done.stdout, re.MULTILINE)
    assert Counter(found) == {("1", "while"): 2, **{(str(at), "before"): 2 for at in range(2, 14)}}
    assert "26 tests that the time did not reach" in done.stdout
    assert "2 passed, 28 skipped" in done.stdout
