"""The alerting rules of a lake, for Prometheus: pure data."""

from dataclasses import dataclass

from headwater.observability.alerting.burn_rates import (
    INCOMPLETE,
    LATE,
    Rule,
    Severity,
    build_completeness_records,
    build_condition,
    build_freshness_records,
)
from headwater.observability.alerting.queries import Objectives, Queries


@dataclass(frozen=True, slots=True)
class _Alert:
    """`lasts` is how long the condition holds before the alert fires. `help` is the next step."""

    name: str
    severity: Severity
    expr: str
    lasts: str
    summary: str
    help: str

    def build(self, lake: str) -> Rule:
        return {
            "alert": self.name,
            "expr": self.expr,
            "for": self.lasts,
            "labels": {"severity": self.severity, "lake": lake},
            "annotations": {"summary": self.summary, "description": self.help},
        }


def build_rules(lake: str, objectives: Objectives, job: str) -> dict[str, object]:
    """Return the content of a file of rules; `job` is the scrape job of the lake's runs."""
    queries = Queries(job)
    groups: list[dict[str, object]] = []
    for name, records, alerts in (
        ("headwater-freshness", *_build_freshness(queries, objectives)),
        ("headwater-completeness", *_build_completeness(queries, objectives)),
        ("headwater-run", [], [*_list_run_alerts(queries), *_list_data_alerts(queries)]),
    ):
        rules = [*records, *(alert.build(lake) for alert in alerts)]
        if rules:
            groups.append({"name": name, "rules": rules})
    return {"groups": groups}


def _build_freshness(queries: Queries, objectives: Objectives) -> tuple[list[Rule], list[_Alert]]:
    if not objectives.fresh_seconds:
        return [], []
    promise = f"{objectives.target:.2%} of objects within {objectives.fresh_seconds:g} s"
    alerts = [
        _Alert(
            "HeadwaterFreshnessBurn",
            severity,
            build_condition(queries, objectives, LATE, severity),
            "0m",
            "Rows of {{ $labels.table }} are committed late",
            f"At this rate, the error budget of freshness ({promise}) lasts {pace}. Compare commit_seconds "
            "and lag_events, and add cores or processes if the table cannot keep up.",
        )
        for severity, pace in _PACES
    ]
    return build_freshness_records(queries, objectives), alerts


def _build_completeness(queries: Queries, objectives: Objectives) -> tuple[list[Rule], list[_Alert]]:
    if not objectives.complete_seconds:
        return [], []
    promise = f"no event older than {objectives.complete_seconds:g} s in {objectives.target:.2%} of the time"
    alerts = [
        _Alert(
            "HeadwaterCompletenessBurn",
            severity,
            build_condition(queries, objectives, f"{INCOMPLETE}:avg", severity),
            "0m",
            "{{ $labels.table }} lacks events that are overdue",
            f"At this rate, the error budget of completeness ({promise}) lasts {pace}. `headwater status` "
            "shows the lag and the last error of the table.",
        )
        for severity, pace in _PACES
    ]
    return build_completeness_records(queries, objectives), alerts


_PACES: tuple[tuple[Severity, str], ...] = (("page", "5 days or less"), ("ticket", "10 to 30 days"))


def _list_run_alerts(queries: Queries) -> list[_Alert]:
    return [
        _Alert(
            "HeadwaterRunDown",
            "page",
            f"up{{{queries.selector}}} == 0 or absent(up{{{queries.selector}}})",
            "2m",
            "A run of headwater does not answer, or is not scraped",
            "Read the log of the process and start it again: it resumes from the last commits.",
        ),
        _Alert(
            "HeadwaterPartDown",
            "page",
            f"{queries.select('part_up')} == 0",
            "1m",
            "{{ $labels.part }} has failed and is not restarted",
            "`/healthz` and `headwater status` show its error. Fix the cause and restart the run.",
        ),
        _Alert(
            "HeadwaterPartRetrying",
            "ticket",
            f"{queries.select('part_failed_attempts')} > 0",
            "15m",
            "{{ $labels.part }} has been failing for 15 minutes",
            "`/healthz` and `headwater status` show its error; it is retried until the cause is fixed.",
        ),
    ]


def _list_data_alerts(queries: Queries) -> list[_Alert]:
    depth = queries.select("queue_depth")
    growth = f"delta({queries.select('queue_depth', '15m')})"
    committed = f"sum by (job) (increase({queries.select('events_committed', '15m')}))"
    quarantined = "\nor\n".join(
        queries.grew(name, "30m") for name in ("objects_failed", "records_failed", "messages_failed")
    )
    lost = queries.grew("reconcile_differences", "1h", 'kind=~"missing|changed"')
    return [
        _Alert(
            "HeadwaterQueueStalled",
            "page",
            f"max by (job) ({depth}) > 0 and max by (job) ({growth}) > 0 and {committed} == 0",
            "5m",
            "The queue grows, and nothing is committed",
            "`/healthz` shows the state of capture; `headwater doctor` checks the queue and the lake.",
        ),
        _Alert(
            "HeadwaterQuarantineGrows",
            "ticket",
            quarantined,
            "0m",
            "Messages, objects or records were quarantined",
            "List them with `headwater quarantine list`, fix the cause, then `headwater quarantine retry`.",
        ),
        _Alert(
            "HeadwaterNotificationsLost",
            "ticket",
            lost,
            "0m",
            "A reconcile found objects without a notification",
            "The objects were backfilled. `headwater doctor` checks the bucket's notifications.",
        ),
    ]
