"""A table's batches wait for compactions and clusterings that another process has not executed. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.config.table import TableConfig
from headwater.errors import BacklogError
from headwater.lake.timeline import Timeline

_HUDI_COMPACTS_AFTER = 5


class _Limit(NamedTuple):
    action: str
    plural: str
    every: int
    most: int
    key: str


def check_backlog(name: str, config: TableConfig, timeline: Timeline) -> None:
    """Raise `BacklogError` if `max_pending_compactions` or `max_pending_clustering` is reached.

    Without this, log files would grow for as long as nothing executes the plans.
    """
    for limit in _list_limits(config):
        due = count_due(timeline, limit.action, limit.every)
        if due >= limit.most:
            raise BacklogError(
                f"table {name}: {due} {limit.plural} are due, and `{limit.key}` is {limit.most}: the next "
                "batch waits until a pending one is executed",
                hint="`headwater services run` executes it; if that is running, its log says why it does not",
            )


def count_due(timeline: Timeline, action: str, every: int) -> int:
    """Count an action's pending plans, and those that would have been made since, one for `every` commits.

    Hudi's writers make no plan while one is pending, so pending plans alone would not show how far behind
    their execution is.
    """
    pending = timeline.list_pending(action)
    if not pending:
        return 0
    since = sum(commit.requested > pending[-1] for commit in timeline.commits)
    return len(pending) + since // every


def _list_limits(config: TableConfig) -> Iterator[_Limit]:
    if config.services == "inline":
        return
    every = _HUDI_COMPACTS_AFTER if config.compact_after is None else config.compact_after
    if config.table_type == "merge_on_read" and every:
        most = config.max_pending_compactions
        yield _Limit("compaction", "compactions", every, most, "max_pending_compactions")
    if config.clustering is not None:
        most = config.max_pending_clustering
        yield _Limit("clustering", "clusterings", config.clustering.after, most, "max_pending_clustering")


def has_limits(config: TableConfig) -> bool:
    """True if the table has a limit that `check_backlog` checks."""
    return any(True for _ in _list_limits(config))
