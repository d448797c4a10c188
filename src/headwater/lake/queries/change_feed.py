"""Feeds of a table's changes since an instant."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from headwater.lake.layout import TableAddress
from headwater.lake.queries.changes import ChangeSet, read_changes
from headwater.lake.queries.history import Step, TableHistory, plan_steps
from headwater.lake.queries.instants import describe_instant
from headwater.lake.queries.planning import load_history_for
from headwater.lake.queries.query import Query
from headwater.lake.queries.rows import Row
from headwater.lake.snapshot_reader import SnapshotReader

_log = logging.getLogger(__name__)


class RowChange(Protocol):
    """The change of one row."""

    @property
    def op(self) -> str:
        """`i`, `u` or `d`."""
        ...

    @property
    def completed(self) -> str:
        """The completion time of its commit."""
        ...

    @property
    def key(self) -> str:
        """The record key."""
        ...

    @property
    def images(self) -> tuple[Row, ...]:
        """The known images of the row: before, after, or both."""
        ...


class ChangeStep(Iterable[RowChange], Protocol):
    """The changes of one commit, or of several commits that are reported together."""

    @property
    def completed(self) -> str:
        """The completion time of the last commit, from which another feed can resume."""
        ...


class Feed(Protocol):
    """A feed of changes, which can be polled repeatedly."""

    def poll(self) -> Iterator[ChangeStep]:
        """Yield new completed steps in order of completion. Raises `LakeError`."""
        ...


class ChangeFeed:
    """Reads changes from `position`, the completion time of the last commit consumed.

    A feed that starts at another feed's position neither misses nor repeats changes. Needs no JVM.
    """

    def __init__(self, address: TableAddress, query: Query, *, per_commit: bool) -> None:
        """`query` is a `Query.changes`; `per_commit` yields one step per commit, else one step in total."""
        self._address = address
        self._query = query
        self._per_commit = per_commit
        self.position = query.since
        self._waits = False

    def poll(self) -> Iterator[ChangeSet]:
        """Yield new steps in order of completion; `position` advances when the next one is requested.

        Commits are deferred while an earlier pending write may still complete. Raises the errors of `read`.
        """
        reader = SnapshotReader(self._address.path, self._address.storage_options)
        files = reader.open_files()
        with reader.explained():
            history = load_history_for(replace(self._query, since=self.position), reader.path, files)
            steps = plan_steps(history, self.position, self._query.until, per_commit=self._per_commit)
        self._log_waiting(history, steps)
        # Reopen the reader, because a commit may have completed since the timeline was loaded.
        reader = reader.reopen()
        for step in steps:
            yield read_changes(reader, step)
            self.position = step.after.completed

    def _log_waiting(self, history: TableHistory, steps: Sequence[Step]) -> None:
        end = steps[-1].after.completed if steps else self.position
        newest = history.commits[-1].completed if history.commits else ""
        if history.pending and end < min(newest, self._query.until or newest) and not self._waits:
            _log.warning(
                "%s: commits after %s deferred until the pending write of %s completes",
                history.path,
                end or "the beginning",
                describe_instant(history.pending[0]),
            )
        self._waits = bool(history.pending) and end < newest
