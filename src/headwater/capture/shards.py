"""Events that several processes append to one events table: each is read once. Pure.

A process drops the events whose ids it knows: those of its own commits, and those of all commits completed
before it looked last. Its commit carries that time, as `seen`. While it commits, another process may commit
the same event: queues deliver a message twice, and a message comes back that was not deleted in time. Only
commits completed between `seen` and the commit can have such an event, and a reader drops what they have.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

SEEN_KEY = "seen"
"""In a commit's metadata; absent where one process appended."""


@dataclass(frozen=True, slots=True)
class SharedCommit:
    """A commit by its completion time. It repeats no event of the commits completed up to `seen`, or of any
    commit before it if `seen` is None."""

    completed: str
    seen: str | None


def build_shared_commit(completed: str, metadata: Mapping[str, str]) -> SharedCommit:
    """Build it from a commit's own metadata."""
    return SharedCommit(completed, metadata.get(SEEN_KEY))


def find_overlap(commits: Iterable[SharedCommit]) -> str | None:
    """Return the time after which others may have committed what one of `commits` repeats; None if none."""
    return min((commit.seen for commit in commits if commit.seen is not None), default=None)


def find_repeated(commits: Sequence[SharedCommit], ids: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Return the ids that each commit repeats, by its completion time.

    `ids` are those of the commits, and of all others completed after their `find_overlap`, by that time.
    """
    repeated: dict[str, set[str]] = {}
    for commit in commits:
        if commit.seen is None:
            continue
        others = [found for completed, found in ids.items() if commit.seen < completed < commit.completed]
        if again := set(ids.get(commit.completed, ())).intersection(*[set().union(*others)]):
            repeated[commit.completed] = again
    return repeated
