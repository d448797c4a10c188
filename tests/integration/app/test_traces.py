"""The traces of a real run, as a collector of OpenTelemetry receives them, and log lines that name them."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.servers.trace_collector import ReceivedSpan, TraceCollector, run_trace_collector

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CONFIG = """\
source: {{type: local, path: landing, settle_seconds: 0}}
lake: lake
observability: {{tracing: {{endpoint: "{url}"}}, log_file: run.log}}
tables:
  orders: {{path: "*.json", record_key: id, schema: "id bigint, name string"}}
  names: {{from: orders, transform: [{{sql: "select _headwater_source, name from input"}}]}}
  stuck: {{path: "*.json", checks: [{{row_count: {{min: 1000}}}}]}}
search:
  table: orders
  text: [name]
  embedder: {{type: hashing}}
"""


STEPS = {
    "capture": ["receive", "parse", "commit events", "delete"],
    "batch orders": ["read events", "plan", "fetch", "process", "quarantine", "commit rows"],
    "batch stuck": ["read events", "plan", "infer columns", "fetch", "process"],
    "batch names": ["derive rows", "commit rows"],
    "index": ["chunk and embed", "commit chunks"],
}
ROWS = '{"id": 1, "name": "tea"}\n{"id": 2, "name": "milk"}\n{broken\n'
BYTES = len(ROWS)


def run_once(folder: Path) -> list[dict[str, Any]]:
    """The lines on stderr, which are those of the log file, too."""
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli.main", "run", "--once", "--json"],
        cwd=folder,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 1, done.stderr  # `stuck` fails
    assert list(json.loads(done.stdout)["tables"]) == ["orders", "names", "stuck"]
    return [json.loads(line) for line in (folder / "run.log").read_text().splitlines()]


def find_root(collector: TraceCollector, name: str) -> ReceivedSpan:
    (found,) = [span for span in collector.roots() if span.name == name]
    return found


def read_attributes(span: ReceivedSpan) -> dict[str, object]:
    return {name.removeprefix("headwater."): value for name, value in span.attributes.items()}


def name_steps(collector: TraceCollector, root: ReceivedSpan) -> list[str]:
    return [span.name for span in collector.children(root)]


def test_each_batch_of_a_run_is_a_trace_and_its_log_lines_name_it(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "1.json").write_text(ROWS)
    with run_trace_collector() as collector:
        (tmp_path / "headwater.yaml").write_text(CONFIG.format(url=collector.url))
        lines = run_once(tmp_path)

    assert Counter(span.name for span in collector.roots()) == Counter(
        ["capture", "batch orders", "batch names", "batch stuck", "index"]
    )
    for name, steps in STEPS.items():
        assert name_steps(collector, find_root(collector, name)) == steps, name
    _check_attributes(collector)
    _check_links(collector)
    _check_failure(collector)
    _check_log(collector, lines)


def _check_attributes(collector: TraceCollector) -> None:
    orders = read_attributes(find_root(collector, "batch orders"))
    assert orders.pop("freshness_seconds")
    (commit,) = collector.of("commit events")
    assert orders.pop("end") == f"{commit.attributes['headwater.completed']}:{2**31 - 1}"
    assert {len(str(orders.pop(name))) for name in ("instant", "completed")} == {17}
    assert orders == {
        "table": "orders",
        "events": 1,
        "objects": 1,
        "objects.ingested": 1,
        "rows": 2,
        "bad_rows": 1,
        "bytes": BYTES,
        "committed": True,
    }
    names = read_attributes(find_root(collector, "batch names"))
    assert (names["rows"], names["deleted"]) == (2, 0)
    assert read_attributes(find_root(collector, "index"))["embedded"] == 2
    for root in collector.roots():
        for step in collector.children(root):
            assert root.began <= step.began + 1_000_000
            assert step.began <= step.ended


def _check_links(collector: TraceCollector) -> None:
    """Each batch leads back to the commits that it read, as far as the notification."""
    (commit,) = collector.of("commit events")
    orders = find_root(collector, "batch orders")
    assert orders.links == find_root(collector, "batch stuck").links == [commit.span_id]
    assert find_root(collector, "batch names").links == [orders.span_id]
    assert find_root(collector, "index").links == [orders.span_id]


def _check_failure(collector: TraceCollector) -> None:
    assert {span.name for span in collector.spans if span.is_failed} == {"batch stuck", "process"}
    stuck = find_root(collector, "batch stuck")
    (error,) = stuck.exceptions
    assert error == {
        "exception.type": "headwater.errors.CheckFailedError",
        "exception.message": stuck.message,
    }
    assert "expected at least 1,000" in stuck.message


def _check_log(collector: TraceCollector, lines: list[dict[str, Any]]) -> None:
    found = {(line["event"], line.get("table", "")): (line["trace_id"], line["span_id"]) for line in lines}
    for event, table, name in (
        ("batch", "orders", "batch orders"),
        ("batch", "names", "batch names"),
        ("batch failed", "stuck", "batch stuck"),
        ("indexed", "", "index"),
    ):
        root = find_root(collector, name)
        assert found[event, table] == (root.trace_id, root.span_id)
