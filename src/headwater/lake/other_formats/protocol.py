"""The contract of tables in other formats."""

from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.lake.other_formats.history import History

COUNT = "_headwater_count"
"""How often a row was added; negative if it was removed."""


class VersionedTable(Protocol):
    """Reads one table with Spark. All methods raise `LakeError`.

    Contract: a version never changes. `read` returns the rows of one version, deletes applied, with the
    columns of that version.
    """

    @property
    def path(self) -> str:
        """The address of the table."""
        ...

    def load_history(self) -> History:
        """Load the current history. Raises `TableNotFoundError` without a table."""
        ...

    def has_same_columns(self, one: str, other: str) -> bool:
        """True if two versions have the same columns, so that rows of files in both are the same rows."""
        ...

    def read(self, version: str = "") -> DataFrame:
        """Read a version of the last history, lazily; by default the current one."""
        ...

    def read_changes(self, after: str, upto: str) -> DataFrame:
        """Return rows that were added or removed between two versions with the same columns, lazily.

        `COUNT` is 1 for an added row, and -1 for a removed one. The counts of a row that was only moved to
        another file add up to 0.
        """
        ...


def count_rows(added: DataFrame, removed: DataFrame) -> DataFrame:
    """Return the rows of both frames with their `COUNT`."""
    return added.withColumn(COUNT, F.lit(1)).unionByName(removed.withColumn(COUNT, F.lit(-1)))
