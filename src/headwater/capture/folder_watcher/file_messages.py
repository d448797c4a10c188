"""Message bodies for files, in the shape of S3 notifications, and the clock that they are ordered by.

The sequencer is a time in nanoseconds. Of a file it is the inode's change time and not the
modification time: a file that is moved or copied into place with an old modification time is still
the newest thing that happened to its key. What is announced later under a key has a later sequencer all
the same: see `choose_order`.
"""

import json
import sys
import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from headwater.capture.folder_watcher.known_files import KnownFile

EVENT_SOURCE = "headwater:local"
FILE_FIELD = "headwaterFile"
"""Field of a record: `identity` and `digest` of the file, see `KnownFile`."""
_SEQUENCER_DIGITS = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# CLOCK_REALTIME_COARSE of Linux, for which `time` has no name.
_COARSE_CLOCK = 5


def read_file_clock() -> int:
    """Nanoseconds of the clock that the kernel stamps files with; it lags a few milliseconds."""
    return time.clock_gettime_ns(_COARSE_CLOCK) if sys.platform == "linux" else time.time_ns()


def build_created_message(bucket: str, key: str, size: int, file: KnownFile, *, from_listing: bool) -> str:
    """The body for a file that is there. What tells it from others of the same etag goes with it."""
    described = {"key": key, "size": size, "eTag": file.etag}
    told = {"identity": file.identity, "digest": file.digest}
    return _build(
        bucket, "ObjectCreated:Put", described, file.order, {FILE_FIELD: told, **_name_source(from_listing)}
    )


def build_removed_message(bucket: str, key: str, order: int, *, from_listing: bool) -> str:
    """The body for a file that was there."""
    return _build(bucket, "ObjectRemoved:Delete", {"key": key}, order, _name_source(from_listing))


def _name_source(from_listing: bool) -> Mapping[str, object]:
    return {"headwaterSource": "listing"} if from_listing else {}


def _build(
    bucket: str, event_name: str, described: Mapping[str, object], order: int, told: Mapping[str, object]
) -> str:
    record = {
        "eventVersion": "2.1",
        "eventSource": EVENT_SOURCE,
        # Not as a float: two orders a microsecond apart must be two times.
        "eventTime": (_EPOCH + timedelta(microseconds=order // 1000)).isoformat(),
        "eventName": event_name,
        "s3": {
            "s3SchemaVersion": "1.0",
            "bucket": {"name": bucket},
            "object": {**described, "sequencer": f"{order:0{_SEQUENCER_DIGITS}x}"},
        },
        **told,
    }
    return json.dumps({"Records": [record]})


def parse_order(order_key: str) -> int:
    """The order of a message of ours from the order key of its event."""
    return int(order_key[:_SEQUENCER_DIGITS], 16)
