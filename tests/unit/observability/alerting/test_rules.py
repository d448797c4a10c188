"""The alerting rules: every metric exists, and Prometheus fires each alert for its cause only."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from headwater.observability.alerting.dashboard import build_dashboard
from headwater.observability.alerting.queries import Objectives, Queries
from headwater.observability.alerting.rules import build_rules
from headwater.observability.metric_names import COUNTERS, GAUGES, HISTOGRAMS
from headwater.observability.metrics import Metrics, format_bucket
from tests.fixtures.promtool import run_promtool

OBJECTIVES = Objectives(45, 900, 0.99)
EXPOSED = {
    *(f"headwater_{name}_total" for name in COUNTERS),
    *(f"headwater_{name}" for name in GAUGES),
    *(f"headwater_{name}_{part}" for name in HISTOGRAMS for part in ("bucket", "count", "sum")),
}


def list_rules(objectives: Objectives = OBJECTIVES) -> list[dict[str, Any]]:
    content: Any = build_rules("s3a://acme-lake/bronze", objectives, "headwater")
    return [rule for group in content["groups"] for rule in group["rules"]]


def list_dashboard_queries() -> list[str]:
    content: Any = build_dashboard("lake", OBJECTIVES, "headwater")
    return [target["expr"] for panel in content["panels"] for target in panel["targets"]]


def test_every_metric_of_rules_and_dashboard_exists() -> None:
    recorded = {rule["record"] for rule in list_rules() if "record" in rule}
    for expr in [*(rule["expr"] for rule in list_rules()), *list_dashboard_queries()]:
        assert set(re.findall(r"table:[a-z_:0-9]+", expr)) <= recorded
        names = set(re.findall(r"(?<!table:)\bheadwater_[a-z_]+", expr.replace("table:headwater", "")))
        assert names <= EXPOSED
        assert 'job="headwater"' in expr


def test_alerts_have_a_severity_a_lake_and_a_next_step() -> None:
    alerts = [rule for rule in list_rules() if "alert" in rule]
    assert {rule["alert"] for rule in alerts} == {
        "HeadwaterFreshnessBurn",
        "HeadwaterCompletenessBurn",
        "HeadwaterRunDown",
        "HeadwaterPartDown",
        "HeadwaterPartRetrying",
        "HeadwaterQueueStalled",
        "HeadwaterQuarantineGrows",
        "HeadwaterNotificationsLost",
    }
    for rule in alerts:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["labels"]["lake"] == "s3a://acme-lake/bronze"
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]


def test_an_objective_that_is_off_has_no_alert() -> None:
    names = {rule.get("alert") for rule in list_rules(Objectives(0, 0, 0.99))}
    assert "HeadwaterPartDown" in names
    assert not names & {"HeadwaterFreshnessBurn", "HeadwaterCompletenessBurn"}


def test_the_limit_of_freshness_is_a_bucket_of_the_histogram() -> None:
    registry = CollectorRegistry()
    Metrics(registry, {"freshness_seconds": 45}).observe("freshness_seconds", 44, table="orders")
    bucket = f'headwater_freshness_seconds_bucket{{le="{format_bucket(45)}",table="orders"}} 1.0'
    assert bucket in generate_latest(registry).decode()
    assert f'le="{format_bucket(45)}"' in Queries("headwater").bucket("freshness_seconds", "5m", 45)


def test_the_dashboard_has_a_panel_for_each_place_of_its_grid() -> None:
    content: Any = json.loads(json.dumps(build_dashboard("lake", OBJECTIVES, "headwater")))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in content["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["title"] for panel in content["panels"]}) == len(places)


def write_rules(folder: Path) -> Path:
    # JSON is YAML, too.
    file = folder / "rules.yml"
    file.write_text(json.dumps(build_rules("lake", OBJECTIVES, "headwater")), "utf-8")
    return file


def test_prometheus_accepts_the_rules(tmp_path: Path) -> None:
    done = run_promtool("check", "rules", "--lint=all", "--lint-fatal", str(write_rules(tmp_path)))
    assert done.returncode == 0, done.stdout + done.stderr


UP = ('up{job="headwater"}', "1x600")
PART = 'headwater_part_up{job="headwater",part="table-orders"}'
ATTEMPTS = 'headwater_part_failed_attempts{job="headwater",part="table-orders"}'
FRESH = 'headwater_freshness_seconds_bucket{job="headwater",table="orders",le="45.0"}'
OBJECTS = 'headwater_freshness_seconds_count{job="headwater",table="orders"}'
LAG = 'headwater_lag_seconds{job="headwater",table="orders"}'
DEPTH = 'headwater_queue_depth{job="headwater"}'
COMMITTED = 'headwater_events_committed_total{job="headwater"}'
QUARANTINED = 'headwater_objects_failed_total{job="headwater",table="orders"}'
LOST = 'headwater_reconcile_differences_total{job="headwater",kind="missing"}'
HEALTHY = {
    UP[0]: UP[1],
    PART: "1x600",
    ATTEMPTS: "0x600",
    FRESH: "0+100x600",
    OBJECTS: "0+100x600",
    LAG: "0 3 0 12x597",
    DEPTH: "0 50 20 0x597",
    COMMITTED: "0+100x600",
    QUARANTINED: "0x600",
}
# What is different from a healthy run, and the alerts that fire ten hours later.
CASES = {
    "healthy": ({}, set()),
    "two of a hundred objects are late": ({FRESH: "0+98x600"}, {("HeadwaterFreshnessBurn", "ticket")}),
    "half of the objects are late": (
        {FRESH: "0+50x600"},
        {("HeadwaterFreshnessBurn", "page"), ("HeadwaterFreshnessBurn", "ticket")},
    ),
    "an object was late nine hours ago": ({FRESH: "0+99x60 6000+100x540"}, set()),
    "a table is stuck": (
        {FRESH: "0x600", OBJECTS: "0x600", LAG: "0+60x600"},
        {("HeadwaterCompletenessBurn", "page"), ("HeadwaterCompletenessBurn", "ticket")},
    ),
    "the lag is unavailable": (
        {LAG: " ".join(["NaN"] * 601)},
        {("HeadwaterCompletenessBurn", "page"), ("HeadwaterCompletenessBurn", "ticket")},
    ),
    "a table is dead": ({PART: "1x590 0x10"}, {("HeadwaterPartDown", "page")}),
    "a table is retried": ({ATTEMPTS: "0x580 1+1x20"}, {("HeadwaterPartRetrying", "ticket")}),
    "the run has ended": ({UP[0]: "1x590 0x10"}, {("HeadwaterRunDown", "page")}),
    "the run is not scraped": ({UP[0]: "_x600"}, {("HeadwaterRunDown", "page")}),
    "the queue grows and capture is stuck": (
        {DEPTH: "0x500 0+10x100", COMMITTED: "0+100x500 50000x100"},
        {("HeadwaterQueueStalled", "page")},
    ),
    "the queue grows and capture is busy": ({DEPTH: "0+10x600"}, set()),
    "an object is quarantined": ({QUARANTINED: "0x590 1x10"}, {("HeadwaterQuarantineGrows", "ticket")}),
    "the first batch has a bad object": (
        {QUARANTINED: "_x590 1x10"},
        {("HeadwaterQuarantineGrows", "ticket")},
    ),
    "an object was quarantined long ago": ({QUARANTINED: "0x100 1x500"}, set()),
    "a reconcile finds lost notifications": (
        {LOST: "_x590 3x10"},
        {("HeadwaterNotificationsLost", "ticket")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_alerts_fire_for_their_cause_only(case: str, tmp_path: Path) -> None:
    change, fired = CASES[case]
    series = [{"series": name, "values": values} for name, values in (HEALTHY | change).items()]
    expected = [
        {"labels": f'{{alertname="{name}",severity="{severity}"}}', "value": 1}
        for name, severity in sorted(fired)
    ]
    test = {
        "rule_files": [str(write_rules(tmp_path))],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [
                    {
                        "expr": 'count by (alertname, severity) (ALERTS{alertstate="firing"})',
                        "eval_time": "10h",
                        "exp_samples": expected,
                    }
                ],
            }
        ],
    }
    file = tmp_path / "test.yml"
    file.write_text(json.dumps(test), "utf-8")
    done = run_promtool("test", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
