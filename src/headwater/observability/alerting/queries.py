"""PromQL for the metrics of a run, by closed names: an unknown metric does not type-check."""

from dataclasses import dataclass

from headwater.observability.metric_names import COUNTERS, HistogramName, MetricName
from headwater.observability.metrics import NAMESPACE, format_bucket


@dataclass(frozen=True, slots=True)
class Objectives:
    """What a lake promises: limits in seconds, 0 for none, and the share that is within them.

    `fresh_seconds`: from an object's event to the commit of its rows. `complete_seconds`: the age of the
    oldest event that a table has not consumed.
    """

    fresh_seconds: float
    complete_seconds: float
    target: float

    @property
    def budget(self) -> str:
        """Return the error budget as PromQL, such as `0.01`."""
        return f"{1 - self.target:.6g}"


@dataclass(frozen=True, slots=True)
class Queries:
    """Expressions over the samples of one scrape job."""

    job: str

    @property
    def selector(self) -> str:
        """Return the label matchers of the job, without braces."""
        return f'job="{self.job}"'

    def select(self, name: MetricName, window: str = "", matchers: str = "") -> str:
        """Return a selector; `window`, such as `5m`, makes it a range."""
        suffix = "_total" if name in COUNTERS else ""
        return self._select(f"{NAMESPACE}_{name}{suffix}", window, matchers)

    def count(self, name: HistogramName, window: str) -> str:
        """Return the number of observations of a histogram."""
        return self._select(f"{NAMESPACE}_{name}_count", window, "")

    def bucket(self, name: HistogramName, window: str, le: float | None = None) -> str:
        """Return the buckets of a histogram, or the one of observations up to `le` seconds."""
        matchers = "" if le is None else f'le="{format_bucket(le)}"'
        return self._select(f"{NAMESPACE}_{name}_bucket", window, matchers)

    def grew(self, name: MetricName, window: str, matchers: str = "") -> str:
        """Return the increase of a counter. A series that begins above 0 counts, which `increase` misses."""
        now, before = self.select(name, "", matchers), self.select(name, window, matchers)
        return f"(increase({before}) > 0 or ({now} unless {now} offset {window}) > 0)"

    def _select(self, wire_name: str, window: str, matchers: str) -> str:
        inside = f"{self.selector},{matchers}" if matchers else self.selector
        return f"{wire_name}{{{inside}}}" + (f"[{window}]" if window else "")
