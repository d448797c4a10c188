"""The contract of source tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, DataFrame

from headwater.lake.queries.change_plan import ChangePlan

Persist = Callable[[DataFrame], DataFrame]
"""Keeps a frame until the end of the batch."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """A past state of a source; `snapshot` is the commit or version to read it by.

    `counts_deletes` is whether later commits count each row that they delete.
    """

    as_of: str
    snapshot: str
    counts_deletes: bool = False


@dataclass(frozen=True, slots=True)
class RowChanges:
    """The rows `written` since a checkpoint, in their current form, and the keys `touched` since then.

    Keys of deleted rows are included. Rows and keys without a change may be included, too.
    """

    written: DataFrame
    touched: DataFrame


class SourceTable(Protocol):
    """A table that a derived table follows. Used by one thread; all methods raise `LakeError`.

    A checkpoint is a text that the source has made: the completion time of a Hudi commit, or a version.
    """

    @property
    def path(self) -> str:
        """The address of the table."""
        ...

    def plan(self, as_of: str, *, is_same_selection: bool) -> ChangePlan | None:
        """Plan the read since a checkpoint, empty for none; None while the table has no commit.

        `is_same_selection` is False if the derived table was defined otherwise at the checkpoint.
        """
        ...

    def build_key(self) -> Column:
        """Return the identity of a row, as text."""
        ...

    def check_keys(self, rows: DataFrame) -> None:
        """Raise `TransformError` unless each row has a key of its own."""
        ...

    def read(self) -> DataFrame:
        """Read the current rows, at least as new as the last plan, lazily."""
        ...

    def find_state(self, as_of: str) -> SourceState | None:
        """Return the state at a checkpoint; None if it cannot be read, or never existed on its own."""
        ...

    def read_state(self, state: SourceState) -> DataFrame:
        """Read a past state, lazily."""
        ...

    def is_intact(self, state: SourceState) -> bool:
        """False if rows of that state may have been missing in reads until now, without an error."""
        ...

    def read_changes(
        self, plan: ChangePlan, known_keys: DataFrame | None, persist: Persist
    ) -> RowChanges | None:
        """Return the changes of a plan; None if they can no longer be read.

        `known_keys` has the keys of all rows at the checkpoint that the caller knows of, repeatedly.
        """
        ...

    def find_changed_groups(
        self, plan: ChangePlan, before: SourceState, keys: Sequence[str], persist: Persist
    ) -> DataFrame | None:
        """Return the groups with rows that a plan inserted, changed or deleted; None if that is unknown.

        A group is the values of the columns `keys`. Includes those that changed rows had before.
        """
        ...
