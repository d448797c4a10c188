"""Reads the last reconcile without a JVM, for `status`."""

from collections.abc import Mapping
from dataclasses import fields

from headwater.capture.reconcile.passes import START, ReconcilePass
from headwater.lake.snapshot_reader import NO_OPTIONS, SnapshotReader

_COLUMNS = tuple(field.name for field in fields(ReconcilePass))


def read_last_pass(
    path: str, bucket: str, prefix: str, storage_options: Mapping[str, str] = NO_OPTIONS
) -> ReconcilePass | None:
    """Return the pass that began last, finished or not; None if there is none. Raises `LakeError`."""
    reader = SnapshotReader(path, storage_options)
    if not reader.exists() or not reader.schema.names:
        return None
    rows = reader.read(_COLUMNS, [("bucket", "=", bucket)]).to_pylist()
    passes = [ReconcilePass(**row) for row in rows if row["prefix"] == prefix and row["listing"] != START]
    return max(passes, key=lambda done: done.started_at, default=None)
