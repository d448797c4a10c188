"""Runs SQL over Hudi tables without a JVM: hudi-rs reads the data, DataFusion executes the query."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NoReturn

import pyarrow as pa
from datafusion import DataFrame, SessionConfig, SessionContext, SQLOptions

from headwater.config.problems.nearest import find_nearest
from headwater.errors import HeadwaterError, TableNotFoundError, TableUnsupportedError, UsageError
from headwater.lake.queries.query import Query
from headwater.lake.queries.reading import check_change_log, open_scan
from headwater.lake.queries.rows import Row, iter_rows, number_duplicates
from headwater.lake.snapshot_reader import NO_OPTIONS, Filter, SnapshotReader
from headwater.lake.sql.dataset import HudiDataset
from headwater.lake.sql.failure import explain_sql_failure
from headwater.lake.sql.statement import Condition, Statement, TableName, parse_statement

Engine = Literal["hudi-rs+datafusion", "spark"]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query; `rows` is a lazy iterator for a single pass, and may raise between two rows.

    Values are Python's own: str, int, float, bool, None, Decimal, bytes, date, datetime (aware, UTC, if the
    column has a zone), list, dict.

    `read_arrow` reads the rows as an Arrow table instead.
    """

    columns: tuple[str, ...]
    rows: Iterator[Row]
    engine: Engine
    read_arrow: Callable[[], pa.Table]


NEWEST = Query.snapshot()
Fallback = Callable[[str, Mapping[str, str]], QueryResult]
"""Runs the SQL text on the paths of its tables if hudi-rs cannot."""


def run_query(
    sql: str,
    tables: Mapping[str, str],
    *,
    storage_options: Mapping[str, str] = NO_OPTIONS,
    limit: int | None = None,
    fallback: Fallback | None = None,
    query: Query = NEWEST,
) -> QueryResult:
    """Run one read-only statement; `tables` are paths by name, and only those referenced are opened.

    `query` selects the rows of each table, for DataFusion and for the `fallback`. Raises `UsageError` for an
    invalid statement, and `InstantUnavailableError` for an unavailable past state. Raises
    `TableNotFoundError` for a table without rows, and `LakeError` if one is unreadable. Raises
    `TableUnsupportedError` only without a `fallback`.
    """
    statement = parse_statement(sql)
    if statement.kind == "show_tables":
        rows: list[Row] = [{"table": name, "path": path} for name, path in tables.items()]
        return QueryResult(
            ("table", "path"), iter(rows), "hudi-rs+datafusion", lambda: pa.Table.from_pylist(rows)
        )
    named = {table: resolve_table(table, tables) for table in statement.tables}
    try:
        if statement.spark_function:
            _leave_to_spark(statement.spark_function, named.values(), tables, storage_options)
        return _Execution(statement, storage_options, limit, query).run(named, tables)
    except TableUnsupportedError:
        if fallback is None:
            raise
        return fallback(sql, {name: tables[name] for name in named.values()})


def resolve_table(table: TableName, known: Iterable[str]) -> str:
    """Return the known table with that name in any case. Raises `UsageError` with the nearest name."""
    names = list(known)
    if table.name in names:
        return table.name
    same = [name for name in names if name.lower() == table.name.lower()]
    if same:
        return same[0]
    near = find_nearest(table.name, names)
    suggestion = f"did you mean {near}? " if near else ""
    where = f"{table.position}: " if table.position else ""
    raise UsageError(
        f"SQL: {where}there is no table {table.name}", hint=f"{suggestion}tables: {', '.join(names)}"
    )


def _leave_to_spark(
    function: str, names: Iterable[str], paths: Mapping[str, str], options: Mapping[str, str]
) -> NoReturn:
    """Raise `TableUnsupportedError`, or before it `TableNotFoundError` for a table without rows."""
    for name in names:
        reader = SnapshotReader(paths[name], options)
        if not reader.exists() or not reader.schema.names:
            raise _build_unwritten(name, paths[name])
    raise TableUnsupportedError(f"only Spark can run {function}", hint="`headwater sql` starts Spark")


def _build_unwritten(name: str, path: str) -> TableNotFoundError:
    return TableNotFoundError(
        f"table {name} has no rows yet: no Hudi table exists at {path}",
        hint="a table is created with its first rows: `headwater run --once`",
    )


class _Execution:
    """The execution of one statement in DataFusion."""

    def __init__(
        self, statement: Statement, storage_options: Mapping[str, str], limit: int | None, query: Query
    ) -> None:
        self._statement = statement
        self._storage_options = storage_options
        self._limit = limit
        self._query = query
        self._datasets: dict[str, HudiDataset] = {}

    def run(self, named: Mapping[TableName, str], paths: Mapping[str, str]) -> QueryResult:
        context = _build_context()
        # DataFusion lower-cases unquoted names, but not quoted ones.
        spelled = {table.name if table.quoted else table.name.lower(): name for table, name in named.items()}
        for spelling, name in spelled.items():
            self._datasets[spelling] = self._open(name, paths[name])
            context.register_dataset(f'"{spelling}"', self._datasets[spelling])
        batches = self._iter_batches(context)
        # Fetch the first batch now, so that planning and open errors are raised by this call.
        first = next(batches)
        columns = number_duplicates(first.schema.names)
        every = chain((first,), batches)
        return QueryResult(
            columns,
            (row for batch in every for row in iter_rows(batch, columns)),
            "hudi-rs+datafusion",
            lambda: pa.Table.from_batches(every, first.schema).rename_columns(list(columns)),
        )

    def _open(self, name: str, path: str) -> HudiDataset:
        reader = SnapshotReader(path, self._storage_options)
        if not reader.exists() or not reader.schema.names:
            raise _build_unwritten(name, path)
        if self._query.kind == "cdc":
            check_change_log(self._query, reader)
            raise TableUnsupportedError(f"{path}: only Spark can read the change log")
        reader.check_own_rows()
        wanted = self._statement.column_names
        needed = None if wanted is None else [c for c in reader.schema.names if c.lower() in wanted]
        conditions = () if reader.has_partitions_by_time else self._statement.conditions
        filters = [found for c in conditions if (found := to_filter(c, reader.schema))]
        scan, reader = open_scan(self._query, reader)
        return HudiDataset(reader, needed, filters, scan)

    def _iter_batches(self, context: SessionContext) -> Iterator[pa.RecordBatch]:
        """Yield at least one batch, possibly empty, because it holds the schema."""
        try:
            frame = self._plan(context)
            if self._statement.has_union:
                frame = self._plan(self._load_tables())
            schema = frame.schema()
            for batch in frame.execute_stream():
                yield batch.to_pyarrow()
            yield _build_empty_batch(schema)
        except HeadwaterError:
            raise
        # DataFusion raises plain `Exception` and passes on only the text of underlying errors.
        except Exception as error:
            for dataset in self._datasets.values():
                if dataset.failure:
                    raise dataset.failure from error
            raise explain_sql_failure(self._statement, str(error)) from error

    def _load_tables(self) -> SessionContext:
        """Load needed columns into memory: a UNION would read them in other threads, see `HudiDataset`."""
        context = _build_context()
        for spelling, dataset in self._datasets.items():
            schema = dataset.project(())
            batches = list(dataset.iter_batches(schema))
            context.register_record_batches(f'"{spelling}"', [batches or [_build_empty_batch(schema)]])
        return context

    def _plan(self, context: SessionContext) -> DataFrame:
        reading = SQLOptions().with_allow_ddl(False).with_allow_dml(False)
        frame = context.sql_with_options(self._statement.text, reading)
        return frame if self._limit is None or self._statement.kind != "query" else frame.limit(self._limit)


def _build_context() -> SessionContext:
    # More than one partition would be read in other threads, see `HudiDataset`.
    return SessionContext(SessionConfig().with_target_partitions(1))


def _build_empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)


def to_filter(condition: Condition, schema: pa.Schema) -> Filter | None:
    """Convert a condition to a file filter, only for types that hudi-rs compares like SQL: strings,
    integers."""
    name = condition.column if condition.quoted else condition.column.lower()
    if name not in schema.names:
        return None
    kind = schema.field(name).type
    is_exact = (
        pa.types.is_string(kind)
        if condition.is_text
        else pa.types.is_integer(kind) and condition.literal.isdigit()
    )
    return (name, condition.operator, condition.literal) if is_exact else None
