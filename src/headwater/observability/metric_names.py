"""Every metric there is, as closed types: a name that is not here does not type-check.

Names follow OpenSearch Data Prepper's S3 source where it has one (in brackets). On the wire each is
prefixed with `headwater_`, and counters end with `_total`, as Prometheus wants.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

CounterName = Literal[
    # messages that receive calls returned, redeliveries included (sqsMessagesReceived)
    "messages_received",
    # messages deleted after the commit that holds their events (sqsMessagesDeleted)
    "messages_deleted",
    # messages that could still not be deleted after all retries (sqsMessagesDeleteFailed)
    "messages_delete_failed",
    # messages, whole or in part, that went to quarantine (sqsMessagesFailed)
    "messages_failed",
    # times a message's visibility was extended (sqsVisibilityTimeoutChangedCount)
    "visibility_timeout_changed",
    # times that extension failed (sqsVisibilityTimeoutChangeFailedCount)
    "visibility_timeout_change_failed",
    # events in commits of the events table
    "events_committed",
    # events not committed because they already were
    "events_duplicate",
    # objects whose rows are in a commit (s3ObjectsSucceeded)
    "objects_succeeded",
    # objects of no bytes (s3ObjectsEmpty)
    "objects_empty",
    # objects that were no longer there (s3ObjectsNotFound)
    "objects_not_found",
    # objects that we may not read (s3ObjectsAccessDenied)
    "objects_access_denied",
    # objects that went to quarantine for any reason (s3ObjectsFailed)
    "objects_failed",
    # bytes of objects read, as stored (s3ObjectSizeBytes)
    "object_bytes_read",
    # rows in commits of data tables
    "rows_written",
    # records that went to quarantine while the rest of their object landed
    "records_failed",
    # checks that the rows of a committed batch did not pass, and that only warn
    "checks_warned",
    # batches of a data table that failed and will be tried again
    "batches_failed",
    # objects that a reconcile has listed
    "reconcile_objects_listed",
    # objects of which the listing said something else than the events: missing, changed, vanished
    "reconcile_differences",
    # reconciles that broke off and will be tried again
    "reconcile_failed",
    # objects that clean_source has acted on: cleaned, changed, gone, failed
    "clean_source_objects",
    # passes of clean_source that broke off and will be tried again
    "clean_source_failed",
    # HTTP requests answered, by route and status
    "requests",
    # requests refused, by the code that the client got
    "requests_refused",
    # answers of /recommend, by who worded them
    "answers",
    # answers that a model should have worded and did not, or not to the end
    "answers_degraded",
    # statements of a model that the rows did not bear out and that were not said, by fault
    "statements_ungrounded",
    # chunks whose text was turned into a vector
    "chunks_embedded",
    # chunks written with a vector that was there already
    "chunks_reused",
    # chunks whose row or text is gone
    "chunks_deleted",
    # indexing runs that failed and will be tried again
    "indexing_failed",
    # times that something of a table was sent to a catalog
    "catalog_syncs",
    # times that a table could not be brought to a catalog; it is tried again
    "catalog_syncs_failed",
    # batches that the collector of lineage has been told of
    "lineage_batches_sent",
    # batches that it was never told of: it did not answer for too long, or refused them
    "lineage_batches_dropped",
]

GaugeName = Literal[
    # messages that wait in the queue, about
    "queue_depth",
    # messages received and not yet deleted, as a share of the cap at which receiving stops (0 to 1)
    "in_flight_ratio",
    # events of the events table that a data table has not consumed
    "lag_events",
    # age of the oldest event that a data table has not consumed; 0 when it has all
    "lag_seconds",
    # the index had all that the lake had this many seconds ago
    "index_lag_seconds",
    # searches that run or wait for a thread
    "searches_open",
    # rows of the index that were not as in the chunks table when they were compared last
    "index_divergence_rows",
]

HistogramName = Literal[
    # from the sender's event time to receiving the message (sqsMessageDelay)
    "message_delay_seconds",
    # wall time of one commit
    "commit_seconds",
    # from the event time of an object to the end of the commit with its rows
    "freshness_seconds",
    # one HTTP request, to its last byte
    "request_seconds",
    # one search, the wait for a thread included
    "search_seconds",
    # one answer, from the question to its last word
    "answer_seconds",
    # from the look at a data table to the commit of its chunks
    "indexing_seconds",
]

MetricName = CounterName | GaugeName | HistogramName


# A commit takes about half a second; freshness after an outage is counted in hours.
SECONDS_BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400)
REQUEST_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """The help text a scraper sees, the labels every sample must carry, and a histogram's buckets."""

    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = SECONDS_BUCKETS


COUNTERS: Final[Mapping[CounterName, MetricDefinition]] = {
    "messages_received": MetricDefinition("Messages received, redeliveries included."),
    "messages_deleted": MetricDefinition("Messages deleted after their commit."),
    "messages_delete_failed": MetricDefinition("Messages that could not be deleted."),
    "messages_failed": MetricDefinition("Messages quarantined, whole or in part."),
    "visibility_timeout_changed": MetricDefinition("Visibility extensions that worked."),
    "visibility_timeout_change_failed": MetricDefinition("Visibility extensions that failed."),
    "events_committed": MetricDefinition("Events in commits of the events table."),
    "events_duplicate": MetricDefinition("Events that were committed before."),
    "objects_succeeded": MetricDefinition("Objects whose rows are in a commit.", ("table",)),
    "objects_empty": MetricDefinition("Objects of no bytes.", ("table",)),
    "objects_not_found": MetricDefinition("Objects that were no longer there.", ("table",)),
    "objects_access_denied": MetricDefinition("Objects that we may not read.", ("table",)),
    "objects_failed": MetricDefinition("Objects quarantined.", ("table",)),
    "object_bytes_read": MetricDefinition("Bytes of objects read, as stored.", ("table",)),
    "rows_written": MetricDefinition("Rows in commits of data tables.", ("table",)),
    "records_failed": MetricDefinition("Records quarantined.", ("table",)),
    "checks_warned": MetricDefinition("Checks with a warning that a batch did not pass.", ("table", "check")),
    "batches_failed": MetricDefinition("Batches that failed and are tried again.", ("table",)),
    "reconcile_objects_listed": MetricDefinition("Objects listed by reconciles."),
    "reconcile_differences": MetricDefinition("Objects that no notification told of.", ("kind",)),
    "reconcile_failed": MetricDefinition("Reconciles that broke off."),
    "clean_source_objects": MetricDefinition("Objects that clean_source has acted on.", ("result",)),
    "clean_source_failed": MetricDefinition("Passes of clean_source that broke off."),
    "catalog_syncs": MetricDefinition("Times that a catalog was told of a table.", ("catalog", "table")),
    "catalog_syncs_failed": MetricDefinition(
        "Times that a catalog could not be told of a table.", ("catalog", "table")
    ),
    "lineage_batches_sent": MetricDefinition("Batches that lineage was told of.", ("table",)),
    "lineage_batches_dropped": MetricDefinition("Batches that lineage was not told of.", ("table",)),
    "requests": MetricDefinition("HTTP requests answered.", ("route", "status")),
    "requests_refused": MetricDefinition("HTTP requests refused.", ("reason",)),
    "answers": MetricDefinition("Answers given.", ("mode",)),
    "answers_degraded": MetricDefinition("Answers without the model that should word them.", ("reason",)),
    "statements_ungrounded": MetricDefinition("Statements that rows did not bear out.", ("fault",)),
    "chunks_embedded": MetricDefinition("Chunks embedded."),
    "chunks_reused": MetricDefinition("Chunks written without embedding them again."),
    "chunks_deleted": MetricDefinition("Chunks deleted."),
    "indexing_failed": MetricDefinition("Indexing runs that failed and are tried again."),
}

GAUGES: Final[Mapping[GaugeName, MetricDefinition]] = {
    "queue_depth": MetricDefinition("Messages waiting in the queue, about."),
    "in_flight_ratio": MetricDefinition("Undeleted messages as a share of the cap, 0 to 1."),
    "lag_events": MetricDefinition("Events not consumed yet.", ("table",)),
    "lag_seconds": MetricDefinition("Age of the oldest event not consumed yet.", ("table",)),
    "index_lag_seconds": MetricDefinition("How old the index is at most."),
    "searches_open": MetricDefinition("Searches that run or wait."),
    "index_divergence_rows": MetricDefinition("Rows of the index that differed from the chunks."),
}

HISTOGRAMS: Final[Mapping[HistogramName, MetricDefinition]] = {
    "message_delay_seconds": MetricDefinition("From event time to receiving the message."),
    "commit_seconds": MetricDefinition("Wall time of one commit.", ("table",)),
    "freshness_seconds": MetricDefinition("From event time to the end of the commit.", ("table",)),
    "request_seconds": MetricDefinition("One HTTP request.", ("route",), REQUEST_BUCKETS),
    "search_seconds": MetricDefinition("One search.", (), REQUEST_BUCKETS),
    "answer_seconds": MetricDefinition("One answer.", ("mode",), REQUEST_BUCKETS),
    "indexing_seconds": MetricDefinition("From the look at a table to the commit of its chunks."),
}
