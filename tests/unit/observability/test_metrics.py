import ast
from pathlib import Path
from typing import get_args

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from headwater.observability.metric_names import (
    COUNTERS,
    GAUGES,
    HISTOGRAMS,
    CounterName,
    GaugeName,
    HistogramName,
)
from headwater.observability.metrics import Metrics
from tests.fixtures.promtool import run_promtool

SOURCE = Path(__file__).parents[3] / "src/headwater"


def test_every_name_of_the_closed_types_is_defined() -> None:
    assert set(get_args(CounterName)) == set(COUNTERS)
    assert set(get_args(GaugeName)) == set(GAUGES)
    assert set(get_args(HistogramName)) == set(HISTOGRAMS)


def test_samples_are_seen_by_a_scraper() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.count("messages_received", 10)
    metrics.count("rows_written", 3, table="orders")
    metrics.set("in_flight_ratio", 0.5)
    metrics.observe("commit_seconds", 0.6, table="orders")
    text = generate_latest(registry).decode()
    assert "headwater_messages_received_total 10.0" in text
    assert 'headwater_rows_written_total{table="orders"} 3.0' in text
    assert "headwater_in_flight_ratio 0.5" in text
    assert 'headwater_commit_seconds_sum{table="orders"} 0.6' in text


def test_every_declared_metric_is_written_somewhere() -> None:
    """One that is declared and never written would be a constant 0, or absent, for whoever watches it."""
    written = {name for path in SOURCE.rglob("*.py") for name in list_written(path)}
    assert written == {*COUNTERS, *GAUGES, *HISTOGRAMS}


def list_written(path: Path) -> set[str]:
    """Metrics that a module counts, sets or observes, by a literal or by a mapping to counters."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_metric = node.func.attr in ("count", "set", "observe") and "metrics" in ast.unparse(node.func)
            if is_metric and node.args and isinstance(node.args[0], ast.Constant):
                found.add(str(node.args[0].value))
        elif isinstance(node, ast.AnnAssign) and "CounterName]" in ast.unparse(node.annotation):
            assert path.name == "metric_names.py" or isinstance(node.value, ast.Dict)
            if path.name != "metric_names.py" and isinstance(node.value, ast.Dict):
                found |= {str(one.value) for one in node.value.values if isinstance(one, ast.Constant)}
    return found


def test_a_gauge_is_absent_until_it_is_set() -> None:
    metrics = Metrics(CollectorRegistry())
    assert b"headwater_queue_depth" not in generate_latest(metrics.registry)
    metrics.set("queue_depth", 0)
    metrics.set("queue_depth", 3)
    assert b"headwater_queue_depth 3.0" in generate_latest(metrics.registry)


def test_two_registries_do_not_share_samples() -> None:
    one, two = Metrics(CollectorRegistry()), Metrics(CollectorRegistry())
    one.count("messages_deleted")
    assert two.registry.get_sample_value("headwater_messages_deleted_total") == 0


def test_missing_label_is_an_error() -> None:
    with pytest.raises(ValueError, match="label"):
        Metrics(CollectorRegistry()).count("rows_written")


def test_names_and_help_follow_the_conventions_of_prometheus() -> None:
    metrics = Metrics(CollectorRegistry())
    for counter, what in COUNTERS.items():
        metrics.count(counter, 1, **dict.fromkeys(what.labels, "x"))
    for gauge, what in GAUGES.items():
        metrics.set(gauge, 1, **dict.fromkeys(what.labels, "x"))
    for histogram, what in HISTOGRAMS.items():
        metrics.observe(histogram, 1, **dict.fromkeys(what.labels, "x"))
    done = run_promtool("check", "metrics", stdin=generate_latest(metrics.registry).decode())
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
