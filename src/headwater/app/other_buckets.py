"""Finds events of buckets that are no source: they are kept in the events table, and ingested by no table."""

from collections.abc import Iterator

from headwater.app.lake_identity import count_events
from headwater.app.scope import list_buckets
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError
from headwater.lake.layout import events_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.storage_options import build_storage_options
from headwater.sources.finding import SetupFinding

_NAME = "lake.other_buckets"


def iter_other_buckets(settings: Settings) -> Iterator[SetupFinding]:
    """Yield a warning for each bucket of the events table that is no source."""
    reader = SnapshotReader(
        events_path(settings.lake), build_storage_options(settings.lake, settings.lake_storage)
    )
    known = list_buckets(settings)
    try:
        counts = count_events(reader) if reader.exists() and reader.commit_names else {}
    except HeadwaterError:
        # Other checks report a table that cannot be read.
        return
    for (_, bucket), count in counts.items():
        if bucket not in known:
            yield SetupFinding(
                _NAME,
                "warning",
                f"events of the bucket {bucket}: {count:,}; it is no source, so no table ingests its objects",
                "add the bucket to `source`, or stop its notifications to the queue",
            )
