"""Rungs by folder: tests/<rung>/... gets the marker <rung>. Fixtures live in tests/fixtures and below."""

import os
import tempfile
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

pytest_plugins = [
    "tests.fixtures.azure",
    "tests.fixtures.emulator",
    "tests.fixtures.google",
    "tests.fixtures.kafka",
    "tests.fixtures.provisioning.cloud",
    "tests.fixtures.provisioning.google_cloud",
    "tests.fixtures.spark",
    "tests.plugins.passes",
    "tests.plugins.seventh",
]
TESTS = Path(__file__).parent
# They run the same lines thousands of times, and unit tests run them, too: coverage doubles their time.
NOT_MEASURED = (TESTS / "properties", TESTS / "unit" / "simulator")
RUNGS = frozenset({"unit", "contracts", "properties", "spark", "integration"})

# JVMs of tests live for seconds: what a thorough compiler and a parallel collector do first never pays here.
# Measured: a third of the time of tests/spark. Processes that tests start inherit it.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Logs of the JVMs of tests, and of the processes that tests start.
os.environ.setdefault("XDG_STATE_HOME", tempfile.mkdtemp(prefix="headwater-tests-"))

# Without a configuration, structlog renders tracebacks with all local variables: 2 to 4 seconds each.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

# Deadlines measure the machine, not the code.
settings.register_profile("headwater", deadline=None)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile("headwater")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.path.is_relative_to(TESTS):
            continue
        rung = item.path.relative_to(TESTS).parts[0]
        if rung not in RUNGS:
            raise pytest.UsageError(
                f"{item.path} is on no rung; move it to one of {', '.join(sorted(RUNGS))}"
            )
        item.add_marker(rung)
        if any(item.path.is_relative_to(folder) for folder in NOT_MEASURED):
            item.add_marker("no_cover")
