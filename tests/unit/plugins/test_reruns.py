"""CI names each flaky test with its traceback, and more than two of them fail the build."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FLAKY = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", {names})
def test_flaky(name):
    before = Path(__file__).with_name(f"{{name}}.tried")
    if not before.exists():
        before.touch()
        raise OSError(f"{{name}} for once")
"""


def read_tries() -> list[str]:
    found = re.search(r'^tries="(.*)"$', (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert found is not None
    return found.group(1).split()


def run_as_ci(folder: Path) -> subprocess.CompletedProcess[str]:
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-p", "no:cacheprovider"]
    side_by_side = ["--numprocesses=2", "--dist=loadfile"]
    command = [sys.executable, "-m", "pytest", *settings, *read_tries(), *side_by_side, str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(("flaky", "exit_code"), [pytest.param(2, 0, marks=pytest.mark.slow), (3, 1)])
def test_more_than_two_reruns_fail_the_build(tmp_path: Path, flaky: int, exit_code: int) -> None:
    for at in range(flaky):
        (tmp_path / f"test_{at}.py").write_text(FLAKY.format(names=[f"n{at}"]))
    done = run_as_ci(tmp_path)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert done.stdout.count("RERUN test_") == 2
    tracebacks = re.findall(r"^E +OSError: (n\d) for once$", done.stdout, re.MULTILINE)
    assert sorted(tracebacks) == [f"n{at}" for at in range(flaky)]
