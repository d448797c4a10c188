"""`Progress`: how far a table has read the events, and which of them it was configured to skip. Pure."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from headwater.capture.position import BEGINNING, EventRange, Position, build_position
from headwater.ingest.planning.outcome import CHECKPOINT

SKIPPED = "skipped"
"""Key of the skipped ranges in the metadata of a table's commits, absent in those of earlier releases."""

Start = Literal["latest", "earliest"] | datetime | None
"""As in `start_from`."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A table's checkpoint, and the events before it that the table does not process, oldest first."""

    checkpoint: Position = BEGINNING
    skipped: tuple[EventRange, ...] = ()

    def skip_to(self, position: Position) -> "Progress":
        """Return the progress after the events up to a later position were skipped."""
        after, kept = self.checkpoint, self.skipped
        if kept and kept[-1].until == self.checkpoint:
            after, kept = kept[-1].after, kept[:-1]
        return Progress(position, (*kept, EventRange(after, position)))

    def replay_from(self, position: Position) -> "Progress":
        """Return the progress after all objects with events after the position were ingested again."""
        kept = (one for one in self.skipped if one.after < position)
        return replace(self, skipped=tuple(replace(one, until=min(one.until, position)) for one in kept))


def begin(start_from: Start, find_latest: Callable[[], Position]) -> Progress:
    """Return the progress of a table without commits. `find_latest` returns its start for `latest`."""
    if isinstance(start_from, datetime):
        return _skip_before(build_position(start_from))
    return _skip_before(find_latest()) if start_from == "latest" else Progress()


def parse_progress(
    metadata: Mapping[str, str] | None, start_from: Start, find_latest: Callable[[], Position]
) -> Progress:
    """Return the progress in the metadata of a table's newest commit, None for a table without commits.

    Raises `ValueError`.
    """
    if metadata is None or CHECKPOINT not in metadata:
        return begin(start_from, find_latest)
    checkpoint = Position.parse(metadata[CHECKPOINT])
    if SKIPPED in metadata:
        return Progress(checkpoint, parse_skipped(metadata[SKIPPED]))
    # Earlier releases recorded no start; theirs was always a time.
    is_time = isinstance(start_from, datetime)
    return Progress(checkpoint, begin(start_from, find_latest).skipped if is_time else ())


def format_skipped(skipped: tuple[EventRange, ...]) -> str:
    """Return the text in commit metadata."""
    return json.dumps([(one.after.to_text(), one.until.to_text()) for one in skipped])


def parse_skipped(text: str) -> tuple[EventRange, ...]:
    """Parse the result of `format_skipped`. Raises `ValueError`."""
    return tuple(
        EventRange(Position.parse(after), Position.parse(until)) for after, until in json.loads(text)
    )


def _skip_before(start: Position) -> Progress:
    return Progress(start, (EventRange(BEGINNING, start),) if start > BEGINNING else ())
