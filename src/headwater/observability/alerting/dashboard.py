"""A Grafana dashboard of a lake: pure data."""

from dataclasses import dataclass

from headwater.observability.alerting.queries import Objectives, Queries

_WIDTH, _HEIGHT = 12, 8
_COLUMNS = 24 // _WIDTH
_WINDOW = "$__rate_interval"
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class _Panel:
    """A time series; `queries` are pairs of expression and legend, `limit` is drawn as a line."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    limit: float = 0


def build_dashboard(lake: str, objectives: Objectives, job: str) -> dict[str, object]:
    """Return the JSON model of the dashboard; `job` is the scrape job of the lake's runs."""
    queries = Queries(job)
    panels = [
        *_list_health(queries),
        *_list_latency(queries, objectives),
        *_list_capture(queries),
        *_list_throughput(queries),
        *_list_problems(queries),
    ]
    return {
        "title": f"headwater: {lake}",
        "tags": ["headwater"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
            ]
        },
        "panels": [_build_panel(number, panel) for number, panel in enumerate(panels)],
    }


def _list_health(queries: Queries) -> list[_Panel]:
    up, attempts = queries.select("part_up"), queries.select("part_failed_attempts")
    return [
        _Panel("Parts up (0: failed)", "none", ((f"min by (part) ({up})", "{{part}}"),)),
        _Panel(
            "Failed attempts of retrying parts", "none", ((f"max by (part) ({attempts}) > 0", "{{part}}"),)
        ),
    ]


def _list_latency(queries: Queries, objectives: Objectives) -> list[_Panel]:
    buckets = f"sum by (table, le) (rate({queries.bucket('freshness_seconds', _WINDOW)}))"
    commits = f"sum by (table, le) (rate({queries.bucket('commit_seconds', _WINDOW)}))"
    lag, events = queries.select("lag_seconds"), queries.select("lag_events")
    return [
        _Panel(
            "Freshness: from event to commit",
            "s",
            tuple(
                (f"histogram_quantile({share}, {buckets})", f"{{{{table}}}} p{share * 100:g}")
                for share in (0.5, 0.99)
            ),
            objectives.fresh_seconds,
        ),
        _Panel(
            "Completeness: age of the oldest pending event",
            "s",
            ((f"max by (table) ({lag})", "{{table}}"),),
            objectives.complete_seconds,
        ),
        _Panel("Pending events", "none", ((f"max by (table) ({events})", "{{table}}"),)),
        _Panel("Commit duration, p95", "s", ((f"histogram_quantile(0.95, {commits})", "{{table}}"),)),
    ]


def _list_capture(queries: Queries) -> list[_Panel]:
    depth, in_flight = queries.select("queue_depth"), queries.select("in_flight_ratio")
    committed = queries.select("events_committed", _WINDOW)
    received = queries.select("messages_received", _WINDOW)
    return [
        _Panel("Queue depth", "none", ((f"max({depth})", "waiting messages"),)),
        _Panel(
            "In-flight messages, share of the limit", "percentunit", ((f"max({in_flight})", "in flight"),)
        ),
        _Panel(
            "Capture per second",
            "none",
            (
                (f"sum(rate({received}))", "messages received"),
                (f"sum(rate({committed}))", "events committed"),
            ),
        ),
    ]


def _list_throughput(queries: Queries) -> list[_Panel]:
    rows = queries.select("rows_written", _WINDOW)
    read = queries.select("object_bytes_read", _WINDOW)
    return [
        _Panel("Rows written per second", "none", ((f"sum by (table) (rate({rows}))", "{{table}}"),)),
        _Panel("Bytes read per second", "Bps", ((f"sum by (table) (rate({read}))", "{{table}}"),)),
    ]


def _list_problems(queries: Queries) -> list[_Panel]:
    batches = queries.select("batches_failed", _WINDOW)
    objects = queries.select("objects_failed", _WINDOW)
    records = queries.select("records_failed", _WINDOW)
    messages = queries.select("messages_failed", _WINDOW)
    differences = queries.select("reconcile_differences", "1h")
    return [
        _Panel("Failed batches", "none", ((f"sum by (table) (increase({batches}))", "{{table}}"),)),
        _Panel(
            "Quarantined",
            "none",
            (
                (f"sum by (table) (increase({objects}))", "{{table}} objects"),
                (f"sum by (table) (increase({records}))", "{{table}} records"),
                (f"sum(increase({messages}))", "messages"),
            ),
        ),
        _Panel(
            "Differences found by reconciles",
            "none",
            ((f"sum by (kind) (increase({differences}))", "{{kind}}"),),
        ),
    ]


def _build_panel(number: int, panel: _Panel) -> dict[str, object]:
    steps: list[dict[str, object]] = [{"color": "green", "value": None}]
    if panel.limit:
        steps.append({"color": "red", "value": panel.limit})
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": _DATASOURCE,
        "gridPos": {
            "h": _HEIGHT,
            "w": _WIDTH,
            "x": number % _COLUMNS * _WIDTH,
            "y": number // _COLUMNS * _HEIGHT,
        },
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "thresholds": {"mode": "absolute", "steps": steps},
                "custom": {"thresholdsStyle": {"mode": "line" if panel.limit else "off"}},
            },
            "overrides": [],
        },
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": _DATASOURCE, "expr": expr, "legendFormat": legend}
            for at, (expr, legend) in enumerate(panel.queries)
        ],
    }
