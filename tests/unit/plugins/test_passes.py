"""The pass of a long test is recorded with its date; a release needs one of the last week for each."""

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import pytest

import check_release
from check_release import list_findings, read_passes, write_passes

ROOT = Path(__file__).parents[3]
TODAY = dt.date(2026, 2, 9)
TESTS = """
import pytest

@pytest.fixture
def broken():
    yield
    raise OSError("teardown")

@pytest.mark.long
@pytest.mark.parametrize("name", ["b", "a c"])
def test_passes(name):
    pass

@pytest.mark.long
def test_fails():
    raise OSError

@pytest.mark.long
def test_skips():
    pytest.skip()

@pytest.mark.long
def test_is_not_torn_down(broken):
    pass

def test_quick():
    pass
"""


@pytest.mark.slow
def test_passes_are_recorded_with_previous_ones(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    file = tmp_path / "tests/long_passes.txt"
    write_passes(file, {"test_z.py::test": TODAY, "test_some.py::test_passes[b]": TODAY})
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugins.passes", "--record-passes", "-n", "2"]
    settings = ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", str(tmp_path / "pytest.ini")]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'scripts'}"}
    done = subprocess.run([*command, *settings, str(tmp_path)], env=environment, timeout=120, check=False)
    assert done.returncode == 1
    today = dt.datetime.now(dt.timezone.utc).date()
    assert file.read_text() == (
        f"{today} test_some.py::test_passes[a c]\n"
        f"{today} test_some.py::test_passes[b]\n"
        f"{TODAY} test_z.py::test\n"
    )


def test_long_tests_equal_those_pytest_collects(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long\naddopts = -m 'not long'\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_some.py").write_text(TESTS)
    names = ["passes[b]", "passes[a c]", "fails", "skips", "is_not_torn_down"]
    assert check_release.list_long_tests(tmp_path) == [f"tests/test_some.py::test_{name}" for name in names]


def test_a_test_needs_a_pass_that_is_no_older_than_a_week() -> None:
    passes = {"old": dt.date(2026, 2, 1), "new": dt.date(2026, 2, 2), "gone": TODAY}
    assert list_findings(["old", "new", "never"], passes, TODAY) == [
        "never: no pass is recorded",
        "old: last passed on 2026-02-01",
        "gone: no long test has this name; delete its line",
    ]


@pytest.mark.parametrize(("passed", "exit_code"), [(True, 0), (False, 1)])
def test_release_is_rejected_with_next_step(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    passed: bool,
    exit_code: int,
) -> None:
    monkeypatch.setattr(check_release, "ROOT", tmp_path)
    monkeypatch.setattr(check_release, "list_long_tests", lambda _root: ["t::a"])
    today = dt.datetime.now(dt.timezone.utc).date()
    write_passes(tmp_path / check_release.PASSES, {"t::a": today} if passed else {})
    assert check_release.main() == exit_code
    printed = capsys.readouterr().out
    assert ("t::a: no pass is recorded" in printed) is not passed
    assert ("make test-long" in printed) is not passed
    assert "make mutants" in printed


def test_a_line_that_is_no_record_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_release, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / check_release.PASSES).write_text("yesterday t::a\n")
    with pytest.raises(SystemExit, match=r"tests/long_passes.txt: .*'yesterday'.*a date, a space and a test"):
        check_release.main()


def test_the_file_in_the_repository_can_be_read() -> None:
    assert list(read_passes(ROOT / check_release.PASSES)) == sorted(read_passes(ROOT / check_release.PASSES))
