"""`headwater index`: the index of the searched table."""

import typer

from headwater.cli.search import evaluate


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="The search index: how good it is.")
    evaluate.register(group)
    app.add_typer(group, name="index")
