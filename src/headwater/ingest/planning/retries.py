"""Selects quarantined objects to retry, and when. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
MAX_ATTEMPTS = 12
"""Maximum attempts, including the first; after the last one, about a day later, only a user can retry."""

Policies = Mapping[str, Mapping[str, str]]
"""By table, then by reason: retry, quarantine or skip."""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """One attempt at one object that ended in quarantine; `at` and `event_time` are aware.

    In a versioned bucket each version is retried on its own.
    """

    table: str
    bucket: str
    key: str
    reason: str
    at: datetime
    version_id: str | None = None
    event_time: datetime | None = None


def compute_pause(attempts: int) -> timedelta:
    """Return the pause after this number of attempts: exponential backoff up to a maximum."""
    return min(FIRST_PAUSE * float(2 ** (attempts - 1)), LONGEST_PAUSE)


def choose_due(failed: Iterable[FailedAttempt], policies: Policies, now: datetime) -> list[FailedAttempt]:
    """Return the newest attempts of the objects to retry now, each object or version once, in order."""
    by_object: defaultdict[tuple[str, str, str, str], list[FailedAttempt]] = defaultdict(list)
    for attempt in failed:
        by_object[attempt.table, attempt.bucket, attempt.key, attempt.version_id or ""].append(attempt)
    due = {}
    for (table, *address), attempts in by_object.items():
        newest = max(attempts, key=lambda attempt: attempt.at)
        is_wanted = policies.get(table, {}).get(newest.reason) == "retry"
        is_time = now >= newest.at + compute_pause(len(attempts))
        if is_wanted and is_time and len(attempts) < MAX_ATTEMPTS:
            due[tuple(address)] = newest
    return [due[address] for address in sorted(due)]
