"""A thin layer on prometheus_client: metrics by closed names, in a registry passed in."""

import threading
from collections.abc import Mapping
from types import MappingProxyType

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from headwater.observability.metric_names import (
    COUNTERS,
    GAUGES,
    HISTOGRAMS,
    CounterName,
    GaugeName,
    HistogramName,
)

NAMESPACE = "headwater"


def format_bucket(seconds: float) -> str:
    """Return the label `le` of a bucket as it is exposed; for less than a million seconds."""
    return str(float(seconds))


class Metrics:
    """All metrics of one process. Thread-safe. Labels must be exactly those of the definition.

    A gauge is registered once it is set: an unmeasured zero would look like a measurement. `limits` adds a
    bucket to a histogram, so that observations up to this limit can be counted exactly.

    Raises `ValueError` for missing or extra labels, and for a second set in one registry.
    """

    def __init__(
        self, registry: CollectorRegistry, limits: Mapping[HistogramName, float] = MappingProxyType({})
    ) -> None:
        self.registry = registry
        self._lock = threading.Lock()
        self._registered: set[GaugeName] = set()
        self._counters = {
            name: Counter(name, what.help, what.labels, namespace=NAMESPACE, registry=registry)
            for name, what in COUNTERS.items()
        }
        self._gauges = {
            name: Gauge(name, what.help, what.labels, namespace=NAMESPACE, registry=None)
            for name, what in GAUGES.items()
        }
        self._histograms = {
            name: Histogram(
                name,
                what.help,
                what.labels,
                namespace=NAMESPACE,
                registry=registry,
                buckets=sorted({*what.buckets, *([limits[name]] if name in limits else [])}),
            )
            for name, what in HISTOGRAMS.items()
        }

    def count(self, name: CounterName, amount: float = 1, **labels: str) -> None:
        """Add to a counter; `amount` is never negative."""
        counter = self._counters[name]
        (counter.labels(**labels) if labels else counter).inc(amount)

    def set(self, name: GaugeName, value: float, **labels: str) -> None:
        """Set a gauge."""
        gauge = self._gauges[name]
        with self._lock:
            if name not in self._registered:
                self._registered.add(name)
                self.registry.register(gauge)
        (gauge.labels(**labels) if labels else gauge).set(value)

    def forget_gauges(self) -> None:
        """Expose no gauge until it is set again, except that of reloads: tables and parts may differ then."""
        with self._lock:
            for name in self._registered - {"config_reload_successful"}:
                self.registry.unregister(self._gauges[name])
                self._gauges[name].clear()
                self._registered.discard(name)

    def observe(self, name: HistogramName, seconds: float, **labels: str) -> None:
        """Add one observation, in seconds."""
        histogram = self._histograms[name]
        (histogram.labels(**labels) if labels else histogram).observe(seconds)
