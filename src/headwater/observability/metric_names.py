"""Every metric, as closed types: an unknown name does not type-check.

Names follow OpenSearch Data Prepper's S3 source where it has one. On the wire each is prefixed with
`headwater_`, and counters end with `_total`, as Prometheus requires. `python -m
headwater.observability.metric_reference` writes docs/reference/metrics.md from this module.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

CounterName = Literal[
    "messages_received",
    "messages_deleted",
    "messages_delete_failed",
    "messages_failed",
    "visibility_timeout_changed",
    "visibility_timeout_change_failed",
    "events_committed",
    "events_duplicate",
    "objects_succeeded",
    "objects_empty",
    "objects_not_found",
    "objects_access_denied",
    "objects_failed",
    "object_bytes_read",
    "rows_written",
    "records_failed",
    "checks_warned",
    "batches_failed",
    "reconcile_objects_listed",
    "reconcile_differences",
    "reconcile_failed",
    "clean_source_objects",
    "clean_source_failed",
    "requests",
    "requests_refused",
    "answers",
    "answers_degraded",
    "statements_ungrounded",
    "chunks_embedded",
    "chunks_reused",
    "chunks_deleted",
    "indexing_failed",
    "catalog_syncs",
    "catalog_syncs_failed",
    "iceberg_updates",
    "iceberg_updates_failed",
    "lineage_batches_sent",
    "lineage_batches_dropped",
    "webhooks_sent",
    "webhooks_dropped",
    "trace_spans_sent",
    "trace_spans_dropped",
]

GaugeName = Literal[
    "config_reload_successful",
    "queue_depth",
    "in_flight_ratio",
    "lag_events",
    "lag_seconds",
    "sets_open",
    "iceberg_lag_seconds",
    "index_lag_seconds",
    "searches_open",
    "index_divergence_rows",
    "part_up",
    "part_failed_attempts",
]

HistogramName = Literal[
    "message_delay_seconds",
    "commit_seconds",
    "freshness_seconds",
    "request_seconds",
    "search_seconds",
    "answer_seconds",
    "indexing_seconds",
]

MetricName = CounterName | GaugeName | HistogramName


# A commit takes about half a second; freshness after an outage can be hours.
SECONDS_BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400)
REQUEST_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """The help text for scrapers and the reference page, the unit, the labels that every sample must have,
    and a histogram's buckets."""

    help: str
    unit: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = SECONDS_BUCKETS


_TABLE = ("table",)

COUNTERS: Final[Mapping[CounterName, MetricDefinition]] = {
    "messages_received": MetricDefinition(
        "Messages that receive calls returned, redeliveries included.", "messages"
    ),
    "messages_deleted": MetricDefinition(
        "Messages deleted after the commit that contains their events.", "messages"
    ),
    "messages_delete_failed": MetricDefinition(
        "Messages that could not be deleted after all retries; they are delivered again.", "messages"
    ),
    "messages_failed": MetricDefinition("Messages quarantined, as a whole or in part.", "messages"),
    "visibility_timeout_changed": MetricDefinition("Visibility extensions that succeeded.", "messages"),
    "visibility_timeout_change_failed": MetricDefinition("Visibility extensions that failed.", "messages"),
    "events_committed": MetricDefinition("Events in commits of the events table.", "events"),
    "events_duplicate": MetricDefinition("Duplicate events, not committed again.", "events"),
    "objects_succeeded": MetricDefinition("Objects whose rows are in a commit.", "objects", _TABLE),
    "objects_empty": MetricDefinition("Objects of zero bytes.", "objects", _TABLE),
    "objects_not_found": MetricDefinition(
        "Objects that no longer existed when they were read.", "objects", _TABLE
    ),
    "objects_access_denied": MetricDefinition(
        "Objects that the credentials have no access to.", "objects", _TABLE
    ),
    "objects_failed": MetricDefinition("Objects quarantined for any reason.", "objects", _TABLE),
    "object_bytes_read": MetricDefinition("Bytes of objects read, as stored.", "bytes", _TABLE),
    "rows_written": MetricDefinition("Rows in commits of data tables.", "rows", _TABLE),
    "records_failed": MetricDefinition(
        "Records quarantined while the rest of their object was committed.", "records", _TABLE
    ),
    "checks_warned": MetricDefinition(
        "Checks with severity `warn` that a committed batch did not pass.", "checks", ("table", "check")
    ),
    "batches_failed": MetricDefinition("Batches that failed and are retried.", "batches", _TABLE),
    "reconcile_objects_listed": MetricDefinition("Objects listed by reconciles.", "objects"),
    "reconcile_differences": MetricDefinition(
        "Objects whose listing differs from the events; `kind` is `missing`, `changed` or `vanished`.",
        "objects",
        ("kind",),
    ),
    "reconcile_failed": MetricDefinition("Reconciles that failed and are retried.", "passes"),
    "clean_source_objects": MetricDefinition(
        "Objects that clean_source acted on; `result` is `cleaned`, `changed`, `gone` or `failed`.",
        "objects",
        ("result",),
    ),
    "clean_source_failed": MetricDefinition("Passes of clean_source that failed and are retried.", "passes"),
    "catalog_syncs": MetricDefinition(
        "Changes of a table sent to a catalog.", "requests", ("catalog", "table")
    ),
    "catalog_syncs_failed": MetricDefinition(
        "Attempts to sync a table to a catalog that failed and are retried.", "attempts", ("catalog", "table")
    ),
    "iceberg_updates": MetricDefinition("Commits shown by a table's Iceberg view.", "updates", _TABLE),
    "iceberg_updates_failed": MetricDefinition(
        "Updates of a table's Iceberg view that failed and are retried.", "attempts", _TABLE
    ),
    "lineage_batches_sent": MetricDefinition("Batches reported to the lineage collector.", "batches", _TABLE),
    "lineage_batches_dropped": MetricDefinition(
        "Batches never reported: the collector rejected them or did not answer for too long.",
        "batches",
        _TABLE,
    ),
    "webhooks_sent": MetricDefinition(
        "Documents delivered to a target of `webhooks`.", "documents", ("webhook", "event")
    ),
    "webhooks_dropped": MetricDefinition(
        "Documents never delivered: the target rejected them or did not answer for too long.",
        "documents",
        ("webhook", "event"),
    ),
    "trace_spans_sent": MetricDefinition("Spans of traces sent to the collector.", "spans"),
    "trace_spans_dropped": MetricDefinition(
        "Spans of traces that the collector rejected, or did not answer in time.", "spans"
    ),
    "requests": MetricDefinition("HTTP requests answered.", "requests", ("route", "status")),
    "requests_refused": MetricDefinition(
        "HTTP requests rejected; `reason` is the code sent to the client.", "requests", ("reason",)
    ),
    "answers": MetricDefinition(
        "Answers of /recommend; `mode` is how they were written.", "answers", ("mode",)
    ),
    "answers_degraded": MetricDefinition(
        "Answers that the language model failed to write or to complete.", "answers", ("reason",)
    ),
    "statements_ungrounded": MetricDefinition(
        "Statements of a model that the rows did not support and that were withheld.",
        "statements",
        ("fault",),
    ),
    "chunks_embedded": MetricDefinition("Chunks whose text was embedded.", "chunks"),
    "chunks_reused": MetricDefinition("Chunks written with a vector that existed already.", "chunks"),
    "chunks_deleted": MetricDefinition("Chunks deleted with their row or text.", "chunks"),
    "indexing_failed": MetricDefinition("Indexing runs that failed and are retried.", "runs"),
}

GAUGES: Final[Mapping[GaugeName, MetricDefinition]] = {
    "config_reload_successful": MetricDefinition(
        "1 after a reload of the configuration (SIGHUP), 0 if the last one failed and the run continues with "
        "its configuration.",
        "boolean",
    ),
    "queue_depth": MetricDefinition("Approximate number of messages waiting in the queue.", "messages"),
    "in_flight_ratio": MetricDefinition(
        "Messages received and not yet deleted, as a share of `max_in_flight`; receiving stops at 1.",
        "ratio, 0 to 1",
    ),
    "lag_events": MetricDefinition(
        "Events of the events table that a table still has to consume; for a table with `from`, commits of "
        "its source.",
        "events",
        _TABLE,
    ),
    "lag_seconds": MetricDefinition(
        "Age of the oldest of these events or commits; 0 when there is none.", "seconds", _TABLE
    ),
    "sets_open": MetricDefinition(
        "Sets of files that are newer than the one in the table: incomplete, or held back.", "sets", _TABLE
    ),
    "iceberg_lag_seconds": MetricDefinition(
        "Age of the oldest commit that a table's Iceberg view does not show; 0 when there is none.",
        "seconds",
        _TABLE,
    ),
    "index_lag_seconds": MetricDefinition(
        "Time since the search index was last known to contain everything in the lake.", "seconds"
    ),
    "searches_open": MetricDefinition("Searches that are running or waiting for a thread.", "searches"),
    "index_divergence_rows": MetricDefinition(
        "Rows of the index that differed from the chunks table in the last comparison.", "rows"
    ),
    "part_up": MetricDefinition(
        "1 while a part of the run works or is about to, 0 when it has failed; `part` is as in `/healthz`.",
        "boolean",
        ("part",),
    ),
    "part_failed_attempts": MetricDefinition(
        "Consecutive failed attempts of a part of the run that is retrying, 0 otherwise.",
        "attempts",
        ("part",),
    ),
}

HISTOGRAMS: Final[Mapping[HistogramName, MetricDefinition]] = {
    "message_delay_seconds": MetricDefinition(
        "From an event's own time to the receipt of its message.", "seconds"
    ),
    "commit_seconds": MetricDefinition("Wall time of one commit.", "seconds", _TABLE),
    "freshness_seconds": MetricDefinition(
        "From the event time of an object to the end of the commit with its rows.", "seconds", _TABLE
    ),
    "request_seconds": MetricDefinition(
        "One HTTP request, to its last byte.", "seconds", ("route",), REQUEST_BUCKETS
    ),
    "search_seconds": MetricDefinition(
        "One search, the wait for a thread included.", "seconds", (), REQUEST_BUCKETS
    ),
    "answer_seconds": MetricDefinition(
        "One answer, from the question to its last word.", "seconds", ("mode",), REQUEST_BUCKETS
    ),
    "indexing_seconds": MetricDefinition(
        "From reading a table's changes to the commit of its chunks.", "seconds"
    ),
}
