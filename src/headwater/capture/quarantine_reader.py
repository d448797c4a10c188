"""Reads the quarantine without a JVM, for commands; never writes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from difflib import get_close_matches

from headwater.capture.quarantine_item import QuarantineItem, QuarantineLevel
from headwater.errors import UsageError
from headwater.lake.snapshot_reader import NO_OPTIONS, SnapshotReader

COLUMNS = ("quarantine_id", *(field.name for field in fields(QuarantineItem)))

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class QuarantineFilter:
    """Selects items; None means any. `since` is aware and inclusive."""

    level: QuarantineLevel | None = None
    reason: str | None = None
    table: str | None = None
    since: datetime | None = None


class QuarantineReader:
    """Reads the newest state of a lake's quarantine table; one that does not exist yet is empty."""

    def __init__(self, path: str, storage_options: Mapping[str, str] = NO_OPTIONS) -> None:
        self._reader = SnapshotReader(path, storage_options)

    def list_rows(self, wanted: QuarantineFilter | None = None) -> list[Row]:
        """Return rows of `COLUMNS`, newest first, each id once. Raises `LakeError`."""
        wanted = wanted or QuarantineFilter()
        equal = (("level", wanted.level), ("reason", wanted.reason), ("table", wanted.table))
        rows = self._read([(name, "=", value) for name, value in equal if value is not None])
        since = wanted.since
        return [row for row in rows if since is None or _time_of(row) >= since]

    def load_row(self, quarantine_id: str) -> Row:
        """Return the row whose id starts with the given text. Raises `UsageError` for none or several."""
        rows = self._read([])
        found = [row for row in rows if str(row["quarantine_id"]).startswith(quarantine_id)]
        exact = [row for row in found if row["quarantine_id"] == quarantine_id]
        if len(exact or found) == 1 and quarantine_id:
            return (exact or found)[0]
        ids = [str(row["quarantine_id"]) for row in rows]
        if found and quarantine_id:
            raise UsageError(
                f"{len(found)} quarantined items have ids that start with {quarantine_id}",
                hint=f"specify more of the id: {', '.join(str(row['quarantine_id']) for row in found[:5])}",
            )
        near = get_close_matches(quarantine_id, ids, n=1)
        suggestion = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"no quarantined item has the id {quarantine_id!r}",
            hint=f"{suggestion}`headwater quarantine list` lists the ids",
        )

    def _read(self, filters: list[tuple[str, str, str]]) -> list[Row]:
        if not self._reader.exists() or not self._reader.schema.names:
            return []
        # Columns of a later release are absent from older tables until the next item is written.
        stored = [name for name in COLUMNS if name in self._reader.schema.names]
        absent = dict.fromkeys(COLUMNS)
        rows: list[Row] = [absent | row for row in self._reader.read(stored, filters).to_pylist()]
        # By id: an external writer may have inserted the same item twice.
        unique = {str(row["quarantine_id"]): row for row in rows}
        return sorted(unique.values(), key=_time_of, reverse=True)


def _time_of(row: Row) -> datetime:
    time = row["quarantined_at"]
    assert isinstance(time, datetime)  # noqa: S101 - the column is a timestamp that is always set
    return time
