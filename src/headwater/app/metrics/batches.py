"""The metrics of a batch."""

from headwater.ingest.planning.outcome import BatchResult
from headwater.observability.metrics import Metrics


def record_batch(metrics: Metrics, result: BatchResult) -> None:
    """Add the figures of one batch."""
    table = result.table
    metrics.count("objects_succeeded", result.objects["ingested"], table=table)
    metrics.count("objects_empty", result.skipped["empty_object"], table=table)
    metrics.count("objects_not_found", result.objects["missing"], table=table)
    metrics.count("objects_access_denied", result.skipped["forbidden"], table=table)
    metrics.count("objects_failed", result.objects["quarantined"], table=table)
    metrics.count("object_bytes_read", result.bytes, table=table)
    metrics.count("rows_written", result.rows, table=table)
    metrics.count("records_failed", result.bad_rows, table=table)
    for check in result.warnings:
        metrics.count("checks_warned", table=table, check=check)
    if result.committed:
        metrics.observe("commit_seconds", result.commit_seconds, table=table)
    for seconds in result.freshness:
        metrics.observe("freshness_seconds", max(0.0, seconds), table=table)
