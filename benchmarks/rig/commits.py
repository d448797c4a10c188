"""When commits completed, from the timelines of a lake in a folder."""

from datetime import datetime, timezone
from pathlib import Path

from headwater.lake.timeline_files import TIMELINE_FOLDER, CommitName, list_commit_names


def list_commits(table: Path | str) -> list[CommitName]:
    """Completed commits of a table, oldest first; none where there is no table."""
    return list_commit_names(str(table), {})


def count_commits(lake: Path) -> int:
    """Completed commits of all tables of a lake."""
    timelines = lake.rglob(TIMELINE_FOLDER)
    return sum(len(list_commits(timeline.parents[1])) for timeline in timelines)


def parse_completion(commit: CommitName) -> float:
    """When a commit completed, in seconds of the wall clock; our tables' instants are UTC."""
    moment = datetime.strptime(commit.completed + "000", "%Y%m%d%H%M%S%f").replace(tzinfo=timezone.utc)
    return moment.timestamp()
