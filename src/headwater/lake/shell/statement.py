"""What a statement of a shell does, by Spark's own parser: it reads, or writes one table, or is rejected."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException, PySparkException
from pyspark.sql import SparkSession

from headwater.errors import HeadwaterError, UsageError
from headwater.lake.failures import explain_lake_failure
from headwater.lake.jvm import is_plan_of_command, parse_plan
from headwater.lake.shell.procedures import check_procedure, is_reading

Kind = Literal["read", "insert", "update", "delete", "merge", "call"]

_WRITES: dict[str, Kind] = {
    "InsertIntoStatement": "insert",
    "UpdateTable": "update",
    "DeleteFromTable": "delete",
    "MergeIntoTable": "merge",
    "CallCommand": "call",
}
# Spark's names of plans. A command that is not in this set is rejected: it may write.
_READING = frozenset(
    {
        "AddFilesCommand",
        "AddJarsCommand",
        "CacheTable",
        "CacheTableAsSelect",
        "ClearCacheCommand$",
        "CreateFunctionCommand",
        "CreateTempViewUsing",
        "CreateViewCommand",
        "DescribeColumn",
        "DescribeFunction",
        "DescribeNamespace",
        "DescribeQueryCommand",
        "DescribeRelation",
        "DropFunctionCommand",
        "DropTempViewCommand",
        "DropView",
        "ExplainCommand",
        "ListFilesCommand",
        "ListJarsCommand",
        "RefreshTable",
        "ResetCommand",
        "SetCatalogAndNamespace",
        "SetCommand",
        "ShowCatalogsCommand",
        "ShowColumns",
        "ShowCreateTable",
        "ShowCurrentNamespaceCommand",
        "ShowFunctions",
        "ShowNamespaces",
        "ShowPartitions",
        "ShowTableExtended",
        "ShowTableProperties",
        "ShowTables",
        "ShowViews",
        "UncacheTable",
    }
)
_ALLOWED = "queries, SHOW, DESCRIBE, SET, temporary views, INSERT, UPDATE, DELETE, MERGE INTO and CALL"
_DATABASES = ((), ("default",), ("spark_catalog", "default"))


@dataclass(frozen=True, slots=True)
class ShellStatement:
    """A parsed statement. `table` is the table that it writes, as spelled; `procedure` that of a `CALL`.

    `plan` is Spark's plan of the entire statement, `write` the part that writes.
    """

    kind: Kind
    table: str = ""
    procedure: str = ""
    plan: Any = None
    write: Any = None

    @property
    def word(self) -> str:
        """The statement in a message."""
        return f"CALL {self.procedure}" if self.kind == "call" else self.kind.upper()


def parse_shell_statement(spark: SparkSession, text: str) -> ShellStatement:
    """Parse one statement. Raises `UsageError` for one that Spark or headwater rejects."""
    try:
        plan = parse_plan(spark, text)
    except ParseException as error:
        raise explain_sql(error) from error
    writes = [node for node in _iter_statements(plan) if _is_write(spark, node)]
    if not writes:
        return ShellStatement("read", plan=plan)
    if len(writes) > 1:
        raise UsageError("SQL: several INSERTs in one statement", hint="write one table per statement")
    (write,) = writes
    return _describe(text, plan, write)


@contextmanager
def explained_statement(what: str) -> Iterator[None]:
    """Convert the errors of Spark and Hudi while a statement is executed to `UsageError` and `LakeError`."""
    try:
        yield
    except HeadwaterError:
        raise
    except (AnalysisException, ParseException, IllegalArgumentException) as error:
        raise explain_sql(error) from error
    except (PySparkException, Py4JError) as error:
        raise explain_lake_failure(what, error) from error


def explain_sql(error: Exception) -> UsageError:
    """Build the error for a statement that Spark rejects."""
    reason = " ".join(str(error).partition("== SQL ==")[0].partition(";\n")[0].split())
    return UsageError(f"SQL: {reason[:500]}")


def _describe(text: str, plan: Any, write: Any) -> ShellStatement:
    name = _find_name(write)
    if name not in _WRITES:
        raise UsageError(
            f"SQL: {' '.join(text.split()[:2]).upper()} is not allowed; use {_ALLOWED}",
            hint="tables, columns and indexes follow headwater.yaml: change it there, or see "
            "`headwater table NAME --help`",
        )
    kind = _WRITES[name]
    if kind == "call":
        return _describe_call(plan)
    if kind == "insert":
        return ShellStatement(kind, _read_target(write.table()), plan=plan, write=write)
    target = write.targetTable() if kind == "merge" else write.table()
    return ShellStatement(kind, _read_target(target.collectLeaves().apply(0)), plan=plan, write=write)


def _describe_call(plan: Any) -> ShellStatement:
    procedure = str(plan.name().last()).lower()
    check_procedure(procedure)
    if is_reading(procedure):
        return ShellStatement("read", plan=plan)
    arguments = [plan.args().apply(at) for at in range(plan.args().size())]
    named = {_read_name(one): str(one.expr().toString()) for one in arguments}
    if set(named) & {"", "path"} or "table" not in named:
        raise UsageError(
            f"SQL: CALL {procedure} needs `table`, and names for all arguments",
            hint=f"CALL {procedure}(table => 'NAME')",
        )
    return ShellStatement("call", named["table"], procedure, plan)


def _read_name(argument: Any) -> str:
    return str(argument.name()).lower() if _find_name(argument) == "NamedArgument" else ""


def _read_target(relation: Any) -> str:
    """Return the name of the table to write. Raises `UsageError` for a path, and for another database."""
    parts = relation.multipartIdentifier() if _find_name(relation) == "UnresolvedRelation" else None
    names = tuple(str(parts.apply(at)) for at in range(parts.size())) if parts else ()
    if not names or tuple(name.lower() for name in names[:-1]) not in _DATABASES:
        raise UsageError(
            f"SQL: {'.'.join(names) or 'the target'} is not a table of this lake",
            hint="write a table by its name; `show tables` lists them",
        )
    return names[-1]


def _iter_statements(plan: Any) -> Iterator[Any]:
    """Yield the statement and those in it: an INSERT may follow a WITH, and a FROM several INSERTs."""
    yield plan
    if _find_name(plan) in {"UnresolvedWith", "Union"}:
        children = plan.children()
        for at in range(children.size()):
            yield from _iter_statements(children.apply(at))


def _is_write(spark: SparkSession, plan: Any) -> bool:
    name = _find_name(plan)
    # Spark does not count an INSERT among its commands, whether into a table or a directory.
    return name.startswith("InsertInto") or (name not in _READING and is_plan_of_command(spark, plan))


def _find_name(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())
