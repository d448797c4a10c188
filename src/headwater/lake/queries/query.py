"""The query types of a table. Pure."""

from dataclasses import dataclass
from typing import Literal, TypedDict

from headwater.errors import UsageError
from headwater.lake.queries.instants import EARLIEST, is_instant, parse_instant, parse_since

QueryKind = Literal["snapshot", "read_optimized", "as_of", "changes", "cdc"]


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a table; build it with a class method, which raises `UsageError` for invalid times.

    `instant`, `since` (exclusive) and `until` (inclusive) have 17 digits and are compared with completion
    times. An empty `since` is before the first commit, an empty `until` is now. `names_time` is set if a time
    was given, which only a timeline in UTC can resolve.
    """

    kind: QueryKind = "snapshot"
    instant: str = ""
    since: str = ""
    until: str = ""
    names_time: bool = False

    @classmethod
    def snapshot(cls) -> "Query":
        """Query the latest snapshot."""
        return cls()

    @classmethod
    def read_optimized(cls) -> "Query":
        """Query base files only: for merge-on-read, the state of each file group at its last compaction."""
        return cls("read_optimized")

    @classmethod
    def as_of(cls, time: str) -> "Query":
        """Query the state at an instant, an ISO time or a date."""
        instant = parse_instant(time, end_of_second=True)
        return cls("as_of", instant=instant, names_time=not is_instant(time))

    @classmethod
    def changes(cls, since: str, until: str = "") -> "Query":
        """Query rows written after `since` (or `earliest`) that exist at `until`, in their state then."""
        return cls("changes", **_parse_window(since, until))

    @classmethod
    def cdc(cls, since: str, until: str = "") -> "Query":
        """Query every change of every commit from the change log: op, ts_ms, before, after."""
        return cls("cdc", **_parse_window(since, until))


def choose_query(*, as_of: str | None, changes_since: str | None, cdc: bool, read_optimized: bool) -> Query:
    """Return the query for a command's options. Raises `UsageError` for incompatible options."""
    chosen = [
        name
        for name, is_given in (
            ("--as-of", as_of is not None),
            ("--changes-since", changes_since is not None),
            ("--read-optimized", read_optimized),
        )
        if is_given
    ]
    if len(chosen) > 1:
        raise UsageError(
            f"{' and '.join(chosen)} cannot be combined", hint="each selects another state of the table"
        )
    if cdc and changes_since is None:
        raise UsageError(
            "--cdc requires --changes-since", hint="--changes-since earliest starts with the first change"
        )
    if as_of is not None:
        return Query.as_of(as_of)
    if changes_since is not None:
        return Query.cdc(changes_since) if cdc else Query.changes(changes_since)
    return Query.read_optimized() if read_optimized else Query.snapshot()


class _Window(TypedDict):
    since: str
    until: str
    names_time: bool


def _parse_window(since: str, until: str) -> _Window:
    begin = parse_since(since)
    end = parse_instant(until, end_of_second=True) if until else ""
    if end and end < begin:
        raise UsageError(f"until {until} is before since {since}", hint="since must not be after until")
    names_time = any(text and not is_instant(text) and text != EARLIEST for text in (since, until))
    return _Window(since=begin, until=end, names_time=names_time)
