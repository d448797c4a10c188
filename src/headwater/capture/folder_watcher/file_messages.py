"""Message bodies for files, in the shape of S3 notifications, and the clock that they are ordered by.

The sequencer is a time in nanoseconds. Of a file it is the inode's change time and not the
modification time: a file that is moved or copied into place with an old modification time is still
the newest thing that happened to its key.
"""

import json
import os
import sys
import time
from datetime import datetime, timezone

EVENT_SOURCE = "headwater:local"
_SEQUENCER_DIGITS = 16
# CLOCK_REALTIME_COARSE of Linux, for which `time` has no name.
_COARSE_CLOCK = 5


def read_file_clock() -> int:
    """Nanoseconds of the clock that the kernel stamps files with; it lags a few milliseconds."""
    return time.clock_gettime_ns(_COARSE_CLOCK) if sys.platform == "linux" else time.time_ns()


def build_created_message(
    bucket: str, key: str, status: os.stat_result, etag: str, *, from_listing: bool
) -> str:
    """The body for a file that is there."""
    described = {"key": key, "size": status.st_size, "eTag": etag}
    return _build(bucket, "ObjectCreated:Put", described, status.st_ctime_ns, from_listing)


def build_removed_message(bucket: str, key: str, now_ns: int, *, from_listing: bool) -> str:
    """The body for a file that was there."""
    return _build(bucket, "ObjectRemoved:Delete", {"key": key}, now_ns, from_listing)


def _build(bucket: str, event_name: str, described: dict[str, object], at_ns: int, from_listing: bool) -> str:
    record = {
        "eventVersion": "2.1",
        "eventSource": EVENT_SOURCE,
        "eventTime": datetime.fromtimestamp(at_ns / 1e9, timezone.utc).isoformat(),
        "eventName": event_name,
        "s3": {
            "s3SchemaVersion": "1.0",
            "bucket": {"name": bucket},
            "object": {**described, "sequencer": f"{at_ns:0{_SEQUENCER_DIGITS}x}"},
        },
    }
    if from_listing:
        record["headwaterSource"] = "listing"
    return json.dumps({"Records": [record]})
