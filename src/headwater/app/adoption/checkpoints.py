"""Checkpoints of HoodieStreamer: what a table has processed. Pure.

Sources over an events table store `INSTANT`, or `INSTANT#KEY` after a part of a commit; Kafka's store
`TOPIC,PARTITION:OFFSET,...`; those over folders store a modification time in milliseconds.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from headwater.capture.row_marks import build_mark
from headwater.lake.timeline import Commit

_INSTANT = re.compile(r"(?P<instant>\d{14}|\d{17}|0+)(?:#(?P<key>.+))?", re.DOTALL)
_OFFSETS = re.compile(r"(?P<topic>[^,:]+)(?P<offsets>(?:,\d+:\d+)+)")
_MILLISECONDS = re.compile(r"\d{12,13}")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FORMS = "INSTANT, INSTANT#KEY, TOPIC,PARTITION:OFFSET,... or a time in milliseconds"


@dataclass(frozen=True, slots=True)
class EventsCheckpoint:
    """The rows of an events table up to a commit, or up to the key in it, are processed.

    `by_completion`: the instant is a completion time. With a key it never is: HoodieStreamer takes both from
    the row.
    """

    instant: str
    key: str | None = None
    by_completion: bool = False


@dataclass(frozen=True, slots=True)
class KafkaCheckpoint:
    """The next offset of each partition of a topic."""

    topic: str
    offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class FolderCheckpoint:
    """Files modified up to this time are processed."""

    milliseconds: int

    @property
    def modified(self) -> datetime:
        """Return the time."""
        return _EPOCH + timedelta(milliseconds=self.milliseconds)


Checkpoint = EventsCheckpoint | KafkaCheckpoint | FolderCheckpoint


def parse_checkpoint(text: str, *, by_completion: bool = False) -> Checkpoint:
    """Parse the text of a checkpoint. Raises `ValueError`."""
    if found := _INSTANT.fullmatch(text):
        return EventsCheckpoint(found["instant"], found["key"], by_completion and found["key"] is None)
    if found := _OFFSETS.fullmatch(text):
        pairs = [pair.split(":") for pair in found["offsets"][1:].split(",")]
        offsets = {int(partition): int(offset) for partition, offset in pairs}
        if len(offsets) < len(pairs):
            raise ValueError(f"{text!r} names a partition twice")
        return KafkaCheckpoint(found["topic"], offsets)
    if _MILLISECONDS.fullmatch(text):
        return FolderCheckpoint(int(text))
    raise ValueError(f"{text!r} is no checkpoint of HoodieStreamer. Allowed: {FORMS}")


def find_bound(checkpoint: EventsCheckpoint, commits: Sequence[Commit]) -> str:
    """Return the greatest mark (`build_mark`) that the checkpoint covers.

    `commits` are those of the events table, needed for completion times only. Raises `ValueError` if no mark
    divides the rows as the completion times do.
    """
    if not checkpoint.by_completion:
        return build_mark(checkpoint.instant, checkpoint.key)
    done = [one.requested for one in commits if one.completed <= checkpoint.instant]
    rest = [one.requested for one in commits if one.completed > checkpoint.instant]
    if done and rest and min(rest) < max(done):
        raise ValueError(
            f"commits of the events table overlap at the checkpoint {checkpoint.instant}: {min(rest)} was "
            f"requested before {max(done)} and completed after it; let the job process one more commit of "
            "the events table, then stop it again"
        )
    return build_mark(max(done)) if done else ""


def find_modified_after(checkpoint: FolderCheckpoint, *, has_fractions: bool) -> datetime:
    """Return the `modified_after` with which a table takes what the checkpoint does not cover.

    It is in whole seconds and includes its own second. If the store's times have fractions, objects of the
    checkpoint's own second are taken once more.
    """
    seconds, fraction = divmod(checkpoint.milliseconds, 1000)
    is_exact = not has_fractions and not fraction
    return _EPOCH + timedelta(seconds=seconds + is_exact)
