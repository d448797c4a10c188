"""Which days of the events table have so many small files that they should be merged. Pure.

Each commit adds a file: at one commit per second, 86,400 files a day.
"""

from collections.abc import Mapping
from datetime import date, timedelta

ORDER = ("_hoodie_commit_time", "batch_index")
"""How merged files are sorted, so that a read of some commits skips most row groups."""

_PARTITION = "event_day="
_MOST_OPEN = 300
"""Files of a day that still gets events. What is merged of it is merged again with what comes."""
_MOST_CLOSED = 10
_MOST_DAYS = 20
"""Partitions merged at once, so that one merge of an old table does not take hours."""


def choose_fragmented(small_files: Mapping[str, int], today: date) -> tuple[str, ...]:
    """Return the partitions to merge, out of the numbers of small files by partition path."""
    open_from = _PARTITION + (today - timedelta(days=1)).isoformat()
    fragmented = [
        path
        for path, count in small_files.items()
        if count > (_MOST_OPEN if path >= open_from else _MOST_CLOSED)
    ]
    fragmented.sort(key=lambda path: (-small_files[path], path))
    return tuple(sorted(fragmented[:_MOST_DAYS]))
