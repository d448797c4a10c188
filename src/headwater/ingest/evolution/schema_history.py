"""The versions of a table's columns, stored in its commit metadata. Pure: no session."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone

from pyspark.sql.types import StructType

from headwater.ingest.evolution.schema_merge import ColumnEvolution, compare_schemas

_MAX_VERSIONS = 200
"""Kept in each commit's metadata; beyond the limit the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change of one column, and the object that introduced it; None for the configuration."""

    kind: str
    column: str
    before: str | None
    after: str
    object: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """The start of a version of the columns. The first version has no changes.

    `commit` is the requested instant of the first commit with them. A commit cannot know its own instant, so
    the newest version may have None.
    """

    version: int
    time: datetime | None = None
    commit: str | None = None
    changes: tuple[RecordedChange, ...] = ()


def add_version(
    history: Sequence[SchemaVersion],
    before: StructType | None,
    after: StructType | None,
    brought_by: Mapping[str, str],
    now: datetime,
) -> tuple[SchemaVersion, ...]:
    """Return the history, with a new version if columns differ. `brought_by`: object by column path."""
    if after is None or before == after:
        return tuple(history)
    if before is None:
        return (SchemaVersion(1, now),)
    # A table that was created before the history existed gets a first version, too.
    known = tuple(history) or (SchemaVersion(1),)
    changes = tuple(_record(change, brought_by) for change in compare_schemas(before, after))
    if not changes:
        return known
    return (*known, SchemaVersion(known[-1].version + 1, now, None, changes))[-_MAX_VERSIONS:]


def _record(change: ColumnEvolution, brought_by: Mapping[str, str]) -> RecordedChange:
    return RecordedChange(
        change.kind, change.column, change.before, change.after, brought_by.get(change.column)
    )


def name_commit(history: Sequence[SchemaVersion], commit: str) -> tuple[SchemaVersion, ...]:
    """Return the history with the newest version's commit, if that was unknown."""
    if not history or history[-1].commit:
        return tuple(history)
    return (*history[:-1], replace(history[-1], commit=commit))


def write_history(history: Sequence[SchemaVersion]) -> str:
    """Return the text for the commit metadata."""
    return json.dumps([_to_plain(version) for version in history], ensure_ascii=False)


def _to_plain(version: SchemaVersion) -> dict[str, object]:
    plain = asdict(version)
    if version.time is not None:
        plain["time"] = version.time.astimezone(timezone.utc).isoformat()
    return {key: value for key, value in plain.items() if value}


def parse_history(text: str) -> tuple[SchemaVersion, ...]:
    """Parse the result of `write_history`."""
    return tuple(
        SchemaVersion(
            version=item["version"],
            time=datetime.fromisoformat(item["time"]) if "time" in item else None,
            commit=item.get("commit"),
            changes=tuple(RecordedChange(**change) for change in item.get("changes", ())),
        )
        for item in json.loads(text)
    )
