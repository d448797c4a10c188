"""What Hudi's HoodieStreamer stores in the commits of a table that it writes. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.lake.timeline import Timeline

_BY_COMPLETION = "streamer.checkpoint.key.v2"
_BY_REQUEST = "deltastreamer.checkpoint.key"


@dataclass(frozen=True, slots=True)
class StreamerCheckpoint:
    """The checkpoint of a job as text, and the commit that has it.

    `by_completion`: an instant in it is the time at which a commit completed, not at which it was requested.
    """

    text: str
    by_completion: bool = False
    commit: str = ""


def find_streamer_checkpoint(timeline: Timeline) -> StreamerCheckpoint | None:
    """Return the checkpoint of the newest active commit that has one, as HoodieStreamer would resume from it.

    Archived commits do not count, as there. Raises `LakeError`.
    """
    for commit in sorted(timeline.commits, key=lambda commit: commit.requested, reverse=True):
        found = select_checkpoint(timeline.read_extra_metadata(commit), commit.requested)
        if found is not None:
            return found
    return None


def select_checkpoint(extra_metadata: Mapping[str, str], commit: str = "") -> StreamerCheckpoint | None:
    """Return the checkpoint in the metadata of one commit."""
    for key in (_BY_COMPLETION, _BY_REQUEST):
        if text := extra_metadata.get(key):
            return StreamerCheckpoint(text, key == _BY_COMPLETION, commit)
    return None
