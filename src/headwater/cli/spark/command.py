"""`headwater spark`: the command."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.sql.output import SHOWN_ROWS, Format, choose_format
from headwater.errors import TableNotFoundError, UsageError

if TYPE_CHECKING:
    from headwater.api import Lake
    from headwater.app.shell import SparkShell


def register(app: typer.Typer) -> None:
    """Add the command."""
    # Options after the file are those of the script.
    app.command("spark", context_settings={"allow_interspersed_args": False})(spark)


def spark(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE [ARGS]",
            help="Python script and its arguments; with --sql, a statement. Without it: a prompt, or what is "
            "piped in.",
        ),
    ] = None,
    is_sql: Annotated[
        bool, typer.Option("--sql", help="Run Spark SQL, with Hudi's DML and procedures, instead of Python.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="With --sql: read the statements from this file."),
    ] = None,
    allow_writes: Annotated[
        bool,
        typer.Option(
            "--allow-writes",
            help="Allow INSERT, UPDATE, DELETE, MERGE INTO and procedures that change a table.",
        ),
    ] = False,
    output_format: Annotated[
        Format | None, typer.Option("--format", help="With --sql: output format. Default: table.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", min=1, help=f"With --sql: rows of a result. Default: {SHOWN_ROWS} in a table."
        ),
    ] = None,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="With --sql: include the columns of Hudi and of lineage.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Open a shell of PySpark or Spark SQL with all tables under their names, or run a script.

    In Python, `spark` is the session, and `lake` is what `headwater.open()` returns. Without --allow-writes,
    only queries are allowed. A statement that writes holds the lease of its table: it is rejected while
    another process writes the table. Exit code 1: the script raised an error.
    """
    given = words or []
    if not is_sql:
        if file or output_format or limit or all_columns or as_json:
            raise UsageError(
                "--file, --format, --limit, --all-columns and --json require --sql",
                hint="pass a Python script as an argument: headwater spark job.py",
            )
        from headwater.cli.spark.python import check_script, run_python

        check_script(given)
        with _open_shell(ctx, allow_writes=allow_writes) as (shell, lake):
            run_python(given, {"spark": shell.session, "lake": lake}, _describe(shell, allow_writes))
        return
    from headwater.cli.spark.statements import Output, read_statements, run_statements

    chosen = choose_format(output_format, as_json=as_json, file=None)
    text = read_statements(given, file)
    with _open_shell(ctx, allow_writes=allow_writes) as (shell, _):
        output = Output(chosen, limit, all_columns)
        run_statements(shell, text, output, _describe(shell, allow_writes))


@contextmanager
def _open_shell(ctx: typer.Context, *, allow_writes: bool) -> "Iterator[tuple[SparkShell, Lake]]":
    settings = Invocation.of(ctx).load_settings()
    if sys.stdin.isatty():
        typer.echo("starting Spark ...", err=True)
    from headwater.api import Lake
    from headwater.app import App
    from headwater.app.shell import SparkShell
    from headwater.lake.shell.registered_tables import adapt_settings

    with (
        TemporaryDirectory(prefix="headwater-spark-", ignore_cleanup_errors=True) as warehouse,
        closing(App(adapt_settings(settings, warehouse))) as app,
    ):
        shell = SparkShell(app, allows_writes=allow_writes)
        yield shell, Lake.of(settings, app.spark)


def _describe(shell: "SparkShell", allow_writes: bool) -> str:
    """Describe the tables, for the beginning of a prompt."""
    lines = [f"Tables: {', '.join(shell.tables.present)}"]
    absent = shell.tables.absent.items()
    if empty := [name for name, problem in absent if isinstance(problem, TableNotFoundError)]:
        lines.append(f"Without rows yet: {', '.join(empty)}")
    if unreadable := [name for name, problem in absent if not isinstance(problem, TableNotFoundError)]:
        lines.append(f"Not readable with Spark: {', '.join(unreadable)}")
    if not allow_writes:
        lines.append("Read-only: --allow-writes allows INSERT, UPDATE, DELETE, MERGE INTO and CALL")
    return "\n".join(lines)
