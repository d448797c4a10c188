"""Names of tables as parameters of commands, completed by the shell."""

from typing import Annotated

import typer

from headwater.cli.completion import complete_table

TableArgument = Annotated[
    str, typer.Argument(metavar="NAME", autocompletion=complete_table, help="Name of the table.")
]
TableOption = Annotated[
    str, typer.Option("--table", metavar="NAME", autocompletion=complete_table, help="Name of the table.")
]
TablesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="NAME",
        autocompletion=complete_table,
        help="Restrict to this table. Repeatable.",
    ),
]
