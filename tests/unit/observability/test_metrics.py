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


def test_two_registries_do_not_share_samples() -> None:
    one, two = Metrics(CollectorRegistry()), Metrics(CollectorRegistry())
    one.count("messages_deleted")
    assert two.registry.get_sample_value("headwater_messages_deleted_total") == 0


def test_missing_label_is_an_error() -> None:
    with pytest.raises(ValueError, match="label"):
        Metrics(CollectorRegistry()).count("rows_written")
