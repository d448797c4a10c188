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
ADOPTED = "adopted"
"""Key of the offset up to which another writer ingested the events, in the same metadata."""

Start = Literal["latest", "earliest"] | datetime | None
"""As in `start_from`."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A table's checkpoint, and the events before it that the table does not process, oldest first.

    Those up to `adopted` were ingested by another writer, from which the table was taken over.
    """

    checkpoint: Position = BEGINNING
    skipped: tuple[EventRange, ...] = ()
    adopted: Position = BEGINNING

    @property
    def skipped_by_choice(self) -> list[EventRange]:
        """The skipped events without those that another writer ingested."""
        later = (replace(one, after=max(one.after, self.adopted)) for one in self.skipped)
        return [one for one in later if one.after < one.until]

    def skip_to(self, position: Position) -> "Progress":
        """Return the progress after the events up to a later position were skipped."""
        after, kept = self.checkpoint, self.skipped
        if kept and kept[-1].until == self.checkpoint:
            after, kept = kept[-1].after, kept[:-1]
        return replace(self, checkpoint=position, skipped=(*kept, EventRange(after, position)))

    def replay_from(self, position: Position) -> "Progress":
        """Return the progress after all objects with events after the position were ingested again."""
        kept = (one for one in self.skipped if one.after < position)
        return replace(self, skipped=tuple(replace(one, until=min(one.until, position)) for one in kept))


def begin(start_from: Start, find_latest: Callable[[], Position]) -> Progress:
    """Return the progress of a table without commits. `find_latest` returns its start for `latest`."""
    if isinstance(start_from, datetime):
        return _skip_before(build_position(start_from))
    return _skip_before(find_latest()) if start_from == "latest" else Progress()


def adopt_at(position: Position) -> Progress:
    """Return the progress of a table whose former writer has ingested the events up to the position."""
    return replace(_skip_before(position), adopted=position)


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
        adopted = Position.parse(metadata[ADOPTED]) if ADOPTED in metadata else BEGINNING
        return Progress(checkpoint, parse_skipped(metadata[SKIPPED]), adopted)
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
