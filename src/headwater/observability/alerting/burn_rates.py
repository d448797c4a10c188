"""Multi-window burn-rate alerts: recording rules for each window, and the alerts that compare them.

An error budget that burns at rate 1 lasts exactly 30 days. Windows and factors are those of Google's Site
Reliability Workbook, chapter 5: the long window shows that the burn is significant, the short one that it
has not ended yet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from headwater.observability.alerting.queries import Objectives, Queries

Severity = Literal["page", "ticket"]
Rule = dict[str, object]


@dataclass(frozen=True, slots=True)
class BurnRate:
    """An alert if the budget burns `factor` times too fast in both windows."""

    severity: Severity
    factor: float
    long: str
    short: str


BURN_RATES: Final = (
    BurnRate("page", 14.4, "1h", "5m"),
    BurnRate("page", 6, "6h", "30m"),
    BurnRate("ticket", 3, "1d", "2h"),
    BurnRate("ticket", 1, "3d", "6h"),
)
WINDOWS: Final = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
LATE: Final = "table:headwater_late_objects:ratio_rate"
INCOMPLETE: Final = "table:headwater_incomplete"


def build_freshness_records(queries: Queries, objectives: Objectives) -> list[Rule]:
    """Return rules that record the share of late objects of each table.

    They count objects with the histogram, since a gauge of the lag would weigh an idle minute as much as a
    busy one. A table that commits nothing has no observations: the completeness alert detects it.
    """

    def build(window: str) -> str:
        within = queries.bucket("freshness_seconds", window, objectives.fresh_seconds)
        every = queries.count("freshness_seconds", window)
        return f"1 - sum by (job, table) (rate({within})) / sum by (job, table) (rate({every}))"

    return _build_records(LATE, build)


def build_completeness_records(queries: Queries, objectives: Objectives) -> list[Rule]:
    """Return rules that record the share of time in which each table was incomplete.

    They use the gauge of the lag, since events that are never committed are in no histogram. A lag that is
    unavailable (NaN) counts as incomplete: the comparison is False for NaN.
    """
    lag = queries.select("lag_seconds")
    now = f"1 - min by (job, table) ({lag} <= bool {objectives.complete_seconds:.12g})"
    ratios = _build_records(
        f"{INCOMPLETE}:avg",
        lambda window: f"avg_over_time({INCOMPLETE}:bool{{{queries.selector}}}[{window}])",
    )
    return [{"record": f"{INCOMPLETE}:bool", "expr": now}, *ratios]


def build_condition(queries: Queries, objectives: Objectives, record: str, severity: Severity) -> str:
    """Return the condition of the alert with this severity."""
    return "\nor\n".join(
        " and ".join(
            f"{record}{window}{{{queries.selector}}} > {rate.factor:g} * {objectives.budget}"
            for window in (rate.long, rate.short)
        ).join("()")
        for rate in BURN_RATES
        if rate.severity == severity
    )


def _build_records(prefix: str, build: Callable[[str], str], windows: Sequence[str] = WINDOWS) -> list[Rule]:
    return [{"record": f"{prefix}{window}", "expr": build(window)} for window in windows]
