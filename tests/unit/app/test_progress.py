"""What a run shows where a person watches."""

import io
import re
from collections import Counter

from headwater.app.progress import Progress, is_watched
from headwater.capture.consumer import CommitReport
from headwater.errors import LakeError
from headwater.ingest.planning.outcome import BatchResult


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_commit_is_one_line_with_the_seconds_since_the_start() -> None:
    shown = io.StringIO()
    progress = Progress(shown)
    observer = progress.build_observer()
    progress.note_start()
    progress.note_session()
    observer.on_capture(CommitReport(messages=2, events=1_200, quarantined=0, seconds=0.1))
    observer.on_batch(BatchResult("orders", "", Counter(ingested=3), Counter(), rows=4_500))
    observer.on_batch(BatchResult("orders", "", Counter(), Counter()))
    observer.on_failure("clicks", LakeError("the disk is full", hint="make room"))
    lines = [re.sub(r"^ +\d+\.\d s  ", "", line) for line in shown.getvalue().splitlines()]
    assert lines == [
        "starting Spark",
        "Spark is up",
        "1,200 events captured",
        "orders: 3 objects, 4,500 rows",
        "clicks: the disk is full",
    ]


def test_nothing_is_shown_without_a_stream_and_a_pipe_is_not_watched() -> None:
    Progress(None).note_session()
    assert not is_watched(io.StringIO())
    assert is_watched(Terminal())
