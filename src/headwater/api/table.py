"""`lake["orders"]`: one table, read without a JVM where possible."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeAlias

from headwater.api.listing import Listing
from headwater.api.rows import Rows, show, to_pandas, to_polars
from headwater.api.session import Session
from headwater.app.since import spell_point
from headwater.config.own_columns import is_own_column
from headwater.errors import TableUnsupportedError, UsageError
from headwater.lake.layout import find_address
from headwater.lake.queries.query import Query
from headwater.lake.snapshot_reader import SnapshotReader

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from headwater.app.erasure.report import ErasureReport
    from headwater.app.objects.explain import Explanation
    from headwater.app.objects.verify import TableReport
    from headwater.lake.inspection import Action
    from headwater.lake.queries.change_feed import RowChange  # noqa: F401 - the type of `Changes`
    from headwater.lake.service_result import ServiceResult
    from headwater.lake.services.cleaning import CleanResult
    from headwater.lake.services.deletion import Deletion
    from headwater.lake.writes import WriteOperation, Written

Frame: TypeAlias = "DataFrame | pd.DataFrame | pl.DataFrame | pa.Table | Sequence[Mapping[str, Any]]"
"""Rows to write: a frame of Spark, pandas or Polars, an Arrow table, or a list of dicts."""


class Changes(Listing["RowChange"]):
    """The changes of a table. Pass `completed` as `since` of the next call to continue after them."""

    completed: str = ""


class Table:
    """A table of a lake. Reads show the newest commit, or with `as_of` the state at an earlier time.

    Methods raise `HeadwaterError`: `TableNotFoundError` before the first commit, `TableBusyError` for a write
    while a run has no lock, `UsageError` for invalid arguments.
    """

    def __init__(self, session: Session, name: str, query: Query | None = None) -> None:
        self._session = session
        self._address = find_address(session.settings, name)
        self._query = query or Query.snapshot()

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._address.name

    @property
    def path(self) -> str:
        """The location of the table."""
        return self._address.path

    @property
    def schema(self) -> "pa.Schema":
        """The columns and their Arrow types, without those of Hudi and headwater."""
        import pyarrow as pa

        return pa.schema([field for field in self._open().schema if not is_own_column(field.name)])

    def as_of(self, time: str) -> "Table":
        """Return the table as it was at an instant, an ISO time or a date; it can only be read."""
        return Table(self._session, self.name, Query.as_of(time))

    def count(self) -> int:
        """Return the number of rows."""
        if self._query.kind == "snapshot":
            return self._open().count_rows()
        return int(self.to_arrow(meta=True).num_rows)

    def to_arrow(self, columns: Sequence[str] | None = None, *, meta: bool = False) -> "pa.Table":
        """Read the rows into an Arrow table. `meta` includes the columns of Hudi and of lineage."""
        from headwater.lake.queries.reading import read

        wanted = list(columns) if columns is not None else None
        try:
            table = read(self._address, self._query, wanted)
        except TableUnsupportedError:
            from headwater.lake.queries.spark import read_as_arrow

            table = read_as_arrow(self.to_spark(wanted, meta=True), self.path)
        return (
            table if meta or wanted else table.select([n for n in table.column_names if not is_own_column(n)])
        )

    def to_pandas(self, columns: Sequence[str] | None = None, *, meta: bool = False) -> "pd.DataFrame":
        """Read the rows into pandas, with Arrow's types: integers with nulls stay integers."""
        return to_pandas(self.to_arrow(columns, meta=meta))

    def to_polars(self, columns: Sequence[str] | None = None, *, meta: bool = False) -> "pl.DataFrame":
        """Read the rows into Polars. Raises `UsageError` without Polars."""
        return to_polars(self.to_arrow(columns, meta=meta))

    def to_spark(self, columns: Sequence[str] | None = None, *, meta: bool = False) -> "DataFrame":
        """Return the rows as a lazy Spark frame of the lake's session."""
        from headwater.lake.queries.spark import read_on_spark

        frame = read_on_spark(self._session.app.spark, self.path, self._query)
        if columns is not None:
            return frame.select(*columns)
        return frame if meta else frame.select(*(name for name in frame.columns if not is_own_column(name)))

    def sql(self, query: str, *, limit: int | None = None) -> Rows:
        """Run a query as `lake.sql` does; with `as_of`, all tables in it are as of then."""
        from headwater.app.sql import run_sql

        session = self._session
        return Rows(run_sql(session.settings, query, self._query, lambda: session.app, limit))

    def changes(self, since: str = "earliest", until: str = "") -> "Changes":
        """Return the rows inserted (`op` is `i`), updated (`u`) and deleted (`d`), each with its last state.

        `since` is exclusive, `until` inclusive: an instant, a time, a date or an age such as `90m`. Two
        states of the table are compared: the changes are net.
        """
        from headwater.lake.queries.change_feed import ChangeFeed

        query = Query.changes(spell_point(since), spell_point(until) if until else "")
        feed = ChangeFeed(self._address, query, per_commit=False)
        found = Changes(change for step in feed.poll() for change in step)
        found.completed = feed.position
        return found

    def history(self, limit: int | None = 20) -> "Listing[Action]":
        """Return the newest completed writes, newest first."""
        from headwater.lake import inspection

        return Listing(inspection.list_commits(self._address, datetime.now(timezone.utc), limit=limit))

    def verify(self, *, deep: int = 0) -> "TableReport":
        """Compare the table with its objects. `deep` also re-reads one object in `deep`, 1 for all."""
        from headwater.app.objects.verify import Verify

        with self._session.open() as app:
            return Verify(app, deep=deep).run([self.name]).tables[self.name]

    def explain(self, uri: str) -> "Explanation":
        """Return every event, and this table's decisions, commits, row counts and errors of one object."""
        from headwater.app.objects.explain import Explain, parse_uri

        parse_uri(uri, self._session.settings)
        return Explain(self._session.app).explain(uri, self.name)

    def upsert(self, rows: Frame) -> "Written":
        """Insert rows, or replace those with the same key (`mode: merge`), in one commit."""
        return self._write(rows, "upsert")

    def insert(self, rows: Frame) -> "Written":
        """Add rows (`mode: append`), in one commit."""
        return self._write(rows, "insert")

    def overwrite(self, rows: Frame, *, whole_table: bool = False) -> "Written":
        """Replace the partitions that have new rows, or all rows, in one commit."""
        return self._write(rows, "insert_overwrite_table" if whole_table else "insert_overwrite")

    def delete(self, where: str, *, dry_run: bool = False) -> "Deletion":
        """Delete the rows that match an SQL condition, in one commit; `dry_run` only counts them."""
        from headwater.lake.services import deletion

        self._check_newest("delete")
        with self._session.open_table(self.name, "delete", is_writing=not dry_run) as table:
            return deletion.delete_rows(table, where, dry_run=dry_run)

    def forget(self, keys: Sequence[str | int], by: str = "", *, dry_run: bool = False) -> "ErasureReport":
        """Erase the rows of keys from all files of the table and its derived tables, and keep them out.

        `by` is the column of the keys, by default the record key. `is_erased` of the signed report says
        whether a scan of all files found none; `dry_run` only scans.
        """
        from headwater.app.erasure.command import Subjects, build_erasures

        self._check_newest("forget")
        if isinstance(keys, str):
            # Each of its characters would be a key.
            raise UsageError(f"keys is the text {keys!r}, not a list", hint=f"pass [{keys!r}]")
        subjects = Subjects(tuple(map(str, keys)), by=(by,) if by else ())
        with self._session.open(writing="" if dry_run else "forget") as app:
            (erasure,) = build_erasures(app, self.name, subjects, dry_run=dry_run)
            return erasure.plan() if dry_run else erasure.run()

    def compact(self) -> "ServiceResult":
        """Merge log files into base files (`type: merge_on_read`)."""
        from headwater.lake.services import compaction

        with self._session.open_table(self.name, "compact") as table:
            return compaction.compact(table)

    def cluster(self, sort: Sequence[str] = ()) -> "ServiceResult":
        """Rewrite small files into larger ones, sorted by these columns."""
        from headwater.lake.services import clustering

        with self._session.open_table(self.name, "cluster") as table:
            return clustering.cluster(table, clustering.ClusterOptions(tuple(sort)))

    def clean(self) -> "CleanResult":
        """Remove superseded files as the configuration says; older states can no longer be read then."""
        from headwater.lake.services import cleaning

        with self._session.open_table(self.name, "clean") as table:
            return cleaning.clean(table, cleaning.CleanPolicy())

    def __repr__(self) -> str:
        at = f" as of {self._query.instant}" if self._query.instant else ""
        return f"<table {self.name}{at} at {self.path}>"

    def _repr_html_(self) -> str:
        names = ", ".join(f'"{name}"' for name in self.schema.names)
        return show(self.sql(f'select {names} from "{self.name}"', limit=20).to_arrow())  # noqa: S608 - known names

    def _write(self, rows: Frame, operation: "WriteOperation") -> "Written":
        from headwater.lake import writes
        from headwater.lake.local_frames import convert_frame

        self._check_newest(operation)
        session = self._session
        frame = convert_frame(session.app.spark, rows, self.schema)
        return writes.write(session.settings, self.name, frame, operation)

    def _check_newest(self, what: str) -> None:
        if self._query.kind != "snapshot":
            raise UsageError(f"{what}: {self!r} can only be read", hint=f'use lake["{self.name}"]')

    def _open(self) -> SnapshotReader:
        return SnapshotReader(self.path, self._address.storage_options)
