"""Plans the scan of a query from the table's timeline, so that no result is partial."""

from headwater.errors import UsageError
from headwater.lake.queries.history import TableHistory, check_change_log, find_cut, find_past
from headwater.lake.queries.history_reader import load_history
from headwater.lake.queries.query import Query
from headwater.lake.snapshot_reader import Scan
from headwater.lake.table_files import TableFiles


def load_history_for(query: Query, path: str, files: TableFiles) -> TableHistory:
    """Load the history back to the query's start. Raises `UsageError` for an unresolvable time."""
    back_to = query.instant if query.kind == "as_of" else query.since
    history = load_history(path, files, back_to)
    if query.names_time and not history.is_utc:
        raise UsageError(
            f"{path}: the timeline is in the writer's local time, and its time zone is unknown",
            hint="use an instant of the timeline, such as "
            + (history.commits[-1].completed if history.commits else "20260131120000000"),
        )
    return history


def plan_scan(query: Query, path: str, files: TableFiles) -> Scan:
    """Plan the rows of any query other than `cdc`.

    Raises `InstantUnavailableError` if they are not completely available, and `LakeError` for timelines
    before Hudi 1.0. Raises `OSError` and `ValueError` for unreadable files.
    """
    if query.kind in {"snapshot", "read_optimized"}:
        return Scan(read_optimized=query.kind == "read_optimized")
    history = load_history_for(query, path, files)
    if query.kind == "as_of":
        return Scan(as_of=find_past(history, query.instant))
    # Rows keep their commit time when files are rewritten, cleaned or archived. This filter therefore finds
    # rows that Hudi's incremental read, which goes by the files of commits, would miss.
    upto = find_past(history, query.until) if query.until else ""
    return Scan(as_of=upto, after=find_cut(history, query.since).requested)


def plan_change_log(query: Query, path: str, files: TableFiles) -> tuple[str, str]:
    """Return the commit range of a `cdc` query: completed after the first instant, up to the second.

    Raises `UsageError` for a table without a change log, and the errors of `plan_scan`.
    """
    history = load_history_for(query, path, files)
    if not history.has_change_log:
        raise UsageError(
            f"{path}: the table has no change log",
            hint="set `cdc:` when you configure a new table; `headwater changes` needs no change log",
        )
    start = check_change_log(history, query.since)
    newest = history.commits[-1].completed if history.commits else ""
    return start.completed, min(query.until, newest) if query.until else newest
