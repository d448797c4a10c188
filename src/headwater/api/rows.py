"""The rows of a query, in the form that the caller prefers."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from headwater.app.notebook_table import format_table
from headwater.errors import UsageError
from headwater.lake.queries.rows import Row, iter_rows

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from headwater.lake.sql.engine import QueryResult

_SHOWN = 20


class Rows:
    """Rows read by a query, at most once: iterate over them as dicts, or convert them.

    Iteration without a conversion before it holds one batch in memory, and works once.
    """

    def __init__(self, result: "QueryResult") -> None:
        self._result = result

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; a repeated one has a number."""
        return self._result.columns

    @property
    def engine(self) -> str:
        """What has read them: `hudi-rs+datafusion` without a JVM, or `spark`."""
        return self._result.engine

    def __iter__(self) -> Iterator[Row]:
        """Yield a dict for each row. Raises `LakeError`."""
        if "_table" not in self.__dict__:
            return self._result.rows
        return (row for batch in self._table.to_batches() for row in iter_rows(batch, self.columns))

    def to_arrow(self) -> "pa.Table":
        """Return an Arrow table. Raises `LakeError`."""
        return self._table

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas frame, with Arrow's types: integers with nulls stay integers."""
        return to_pandas(self._table)

    def to_polars(self) -> "pl.DataFrame":
        """Return a Polars frame. Raises `UsageError` without Polars."""
        return to_polars(self._table)

    @cached_property
    def _table(self) -> "pa.Table":
        return self._result.read_arrow()

    def __len__(self) -> int:
        """Return the number of rows, which are in memory then."""
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        return f"<{len(self):,} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return show(self._table)


def to_pandas(table: "pa.Table") -> "pd.DataFrame":
    """Convert to pandas with Arrow's types."""
    import pandas as pd

    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def to_polars(table: "pa.Table") -> "pl.DataFrame":
    """Convert to Polars. Raises `UsageError` without Polars."""
    try:
        import polars as pl
    except ImportError as error:
        raise UsageError("to_polars(): Polars is not installed", hint="pip install polars") from error
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"{type(frame).__name__} is not a frame")
    return frame


def show(table: "pa.Table") -> str:
    """Return the first rows as HTML."""
    head = table.slice(0, _SHOWN)
    rows = [list(row.values()) for batch in head.to_batches() for row in iter_rows(batch, table.column_names)]
    note = f"{table.num_rows:,} rows" if table.num_rows > _SHOWN else ""
    return format_table(table.column_names, rows, note)
