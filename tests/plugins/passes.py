"""`--record-passes` writes the date of each pass of a test marked `long` to `tests/long_passes.txt`.

`make release-check` reads it. Each pass is written at once: a run of hours may be killed.
"""

import datetime as dt
from pathlib import Path

import pytest

from check_release import PASSES, read_passes, write_passes


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("long tests")
    group.addoption(
        "--record-passes", action="store_true", help=f"write each pass of a long test to {PASSES}"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Processes of pytest-xdist send their reports to the one that started them, which records them.
    if config.getoption("--record-passes") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(PassRecorder(config.rootpath / PASSES), "pass-recorder")


class PassRecorder:
    """A test has passed when its teardown has, too."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._called: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "long" not in report.keywords or not report.passed:
            return
        if report.when == "call":
            self._called.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid in self._called:
            today = dt.datetime.now(dt.timezone.utc).date()
            write_passes(self._file, {**read_passes(self._file), report.nodeid: today})
