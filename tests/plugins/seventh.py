"""`--seventh-of=COMMIT` runs a seventh of the tests marked `long`; `--end-after=MINUTES` ends a run in time.

Every long test is in one of seven parts: the hash of the commit, modulo seven, says which part runs. The run
skips what the time does not reach, and lists it by name. The commit also decides the order of the files, so
other tests are left out each time; `--order-of=COMMIT` does only this.
"""

import hashlib
import signal
import time
from collections.abc import Generator, Iterable
from types import FrameType
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

PARTS = 7
NOT_BEGUN = "the time of the run was over before the test began"
TRUNCATED = "the time of the run was over while the test ran"
_IS_CUT = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("long tests")
    group.addoption(
        "--seventh-of", metavar="COMMIT", help="only the seventh of the long tests that it chooses"
    )
    group.addoption("--order-of", metavar="COMMIT", help="run the files in the order that it chooses")
    group.addoption("--end-after", metavar="MINUTES", type=float, help="skip and list what is left then")


def pytest_configure(config: pytest.Config) -> None:
    for option in ("--seventh-of", "--order-of"):
        if (commit := config.getoption(option)) is not None:
            parse_commit(commit, option)
    # Processes of pytest-xdist get the options of the one that starts them, and so its deadline.
    if config.getoption("--end-after") is not None and not hasattr(config.option, "end_at"):
        config.option.end_at = time.time() + config.getoption("--end-after") * 60
    config.pluginmanager.register(UnreachedTests(), "unreached-tests")


def parse_commit(commit: str, option: str = "--seventh-of") -> int:
    """The number that a commit's hash is. Raises `pytest.UsageError` when it is none."""
    try:
        return int(commit, 16)
    except ValueError:
        hint = "pass the hash of a commit: git rev-parse HEAD"
        raise pytest.UsageError(f"{option}={commit}: not a hash; {hint}") from None


def choose_part(names: Iterable[str], commit: str) -> frozenset[str]:
    """The names of a commit's part.

    Neighbours are in different parts: tests of one file take equally long, so the parts do, too.
    """
    return frozenset(sorted(names)[parse_commit(commit) % PARTS :: PARTS])


def order_files(files: Iterable[str], commit: str) -> list[str]:
    """The files in an order that each commit changes."""
    return sorted(set(files), key=lambda file: hashlib.sha256(f"{commit} {file}".encode()).digest())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    commit = config.getoption("--seventh-of")
    if commit is not None:
        chosen = choose_part((item.nodeid for item in items if item.get_closest_marker("long")), commit)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]
    ordering = commit or config.getoption("--order-of")
    if ordering is not None:
        order = order_files((file_of(item) for item in items), ordering)
        items.sort(key=lambda item: order.index(file_of(item)))


def file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def seconds_left(item: pytest.Item) -> float:
    """Infinite without a deadline."""
    return float(getattr(item.config.option, "end_at", float("inf"))) - time.time()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if seconds_left(item) <= 0:
        pytest.skip(NOT_BEGUN)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: Any, settings: Any) -> bool | None:
    """The deadline of the run instead of the test's own timeout, where it comes first: a skip, no failure."""
    left = seconds_left(item)
    if left <= 0 or left >= settings.timeout:
        return None

    def end(_number: int, _frame: FrameType | None) -> None:
        item.config.stash[_IS_CUT] = True
        pytest.skip(TRUNCATED)

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    item.cancel_timeout = cancel
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, left)
    return True


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What is left in the middle can fail in any way: in the test, where py4j has half an answer and raises
    its own error for the skip, and when it is torn down."""
    report = yield
    if report.failed and item.config.stash.get(_IS_CUT, False):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"{call.when} failed after {TRUNCATED}: {call.excinfo}")
    return report


class UnreachedTests:
    """Names what the time did not reach: pytest folds skips of one reason into a number."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.skipped or not isinstance(report.longrepr, tuple):
            return
        for reason in (NOT_BEGUN, TRUNCATED):
            if report.longrepr[2] == f"Skipped: {reason}":
                self._lines.append(f"{report.nodeid}: {reason}")

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if self._lines:
            terminalreporter.write_sep("=", f"{len(self._lines)} tests that the time did not reach")
            for line in self._lines:
                terminalreporter.write_line(line)
