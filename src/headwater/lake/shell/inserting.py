"""The rows and the operation of an INSERT, which headwater itself then writes."""

from pyspark.sql import DataFrame

from headwater.config.own_columns import is_own_column
from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.lake.jvm import build_frame
from headwater.lake.shell.session import GuardedSession
from headwater.lake.shell.statement import ShellStatement
from headwater.lake.writes import WriteOperation

_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"


def read_inserted(session: GuardedSession, statement: ShellStatement, name: str) -> DataFrame:
    """Return the rows of an INSERT, with the names of the table's columns.

    Without a list of columns, its values are those of the table's columns in their order, without Hudi's and
    headwater's own. Raises `UsageError`.
    """
    insert, plan = statement.write, statement.plan
    if not insert.partitionSpec().isEmpty():
        raise UsageError(
            "SQL: INSERT with PARTITION is not allowed",
            hint="write the partition fields as columns; to replace only their partitions, set "
            f"{_OVERWRITE_MODE} = dynamic",
        )
    query = insert.query() if insert == plan else plan.copy(insert.query(), plan.cteRelations())
    frame = build_frame(session, query)
    if insert.byName():
        return frame
    given = insert.userSpecifiedCols()
    columns = [str(given.apply(at)) for at in range(given.size())] or [
        column for column in session.table(name).columns if not is_own_column(column)
    ]
    if len(columns) != len(frame.columns):
        raise UsageError(
            f"SQL: {len(frame.columns)} values for {len(columns)} columns of table {name}",
            hint=f"name those that it has values for, in parentheses after {name}: {', '.join(columns)}",
        )
    return frame.toDF(*columns)


def choose_operation(
    session: GuardedSession, statement: ShellStatement, config: TableConfig
) -> WriteOperation:
    """Return the operation of an INSERT. As in Spark, OVERWRITE replaces all rows unless set to dynamic."""
    if statement.write.overwrite():
        is_dynamic = str(session.conf.get(_OVERWRITE_MODE)).lower() == "dynamic"
        return "insert_overwrite" if is_dynamic and config.partition else "insert_overwrite_table"
    return "insert" if config.effective_mode == "append" else "upsert"
