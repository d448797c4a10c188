"""Message bodies for files in the format of S3 notifications, and the clock that orders them.

The sequencer is a time in nanoseconds: the inode's change time, not the modification time. A file moved
into place with an old modification time is still the newest event of its key. Later announcements of a
key always have a later sequencer: see `choose_order`.
"""

import json
import sys
import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from headwater.sources.local.folder_watcher.known_files import KnownFile

EVENT_SOURCE = "headwater:local"
FILE_FIELD = "headwaterFile"
"""Record field with `identity` and `digest` of the file, see `KnownFile`."""
_SEQUENCER_DIGITS = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# CLOCK_REALTIME_COARSE of Linux, which `time` does not define.
_COARSE_CLOCK = 5


def read_file_clock() -> int:
    """Return nanoseconds of the kernel's clock for file timestamps; it lags by a few milliseconds."""
    return time.clock_gettime_ns(_COARSE_CLOCK) if sys.platform == "linux" else time.time_ns()


def build_created_message(bucket: str, key: str, size: int, file: KnownFile, *, from_listing: bool) -> str:
    """Build the body for an existing file, with values that distinguish equal etags."""
    described = {"key": key, "size": size, "eTag": file.etag}
    file_fields = {"identity": file.identity, "digest": file.digest}
    return _build(
        bucket,
        "ObjectCreated:Put",
        described,
        file.order,
        {FILE_FIELD: file_fields, **_name_source(from_listing)},
    )


def build_removed_message(bucket: str, key: str, order: int, *, from_listing: bool) -> str:
    """Build the body for a deleted file."""
    return _build(bucket, "ObjectRemoved:Delete", {"key": key}, order, _name_source(from_listing))


def _name_source(from_listing: bool) -> Mapping[str, object]:
    return {"headwaterSource": "listing"} if from_listing else {}


def _build(
    bucket: str,
    event_name: str,
    described: Mapping[str, object],
    order: int,
    extra_fields: Mapping[str, object],
) -> str:
    record = {
        "eventVersion": "2.1",
        "eventSource": EVENT_SOURCE,
        # Not as a float: two orders a microsecond apart must give two times.
        "eventTime": (_EPOCH + timedelta(microseconds=order // 1000)).isoformat(),
        "eventName": event_name,
        "s3": {
            "s3SchemaVersion": "1.0",
            "bucket": {"name": bucket},
            "object": {**described, "sequencer": f"{order:0{_SEQUENCER_DIGITS}x}"},
        },
        **extra_fields,
    }
    return json.dumps({"Records": [record]})


def parse_order(order_key: str) -> int:
    """Parse the order of a watcher's message from the order key of its event."""
    return int(order_key[:_SEQUENCER_DIGITS], 16)
