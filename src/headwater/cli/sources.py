"""`--source NAME`, and the output of commands that work on each source."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.completion import complete_source

if TYPE_CHECKING:
    from headwater.config.settings import Settings

SourceOption = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="NAME",
        autocompletion=complete_source,
        help="Name of one of several sources. Default: all of them.",
    ),
]


def choose_form(settings: "Settings", documents: Sequence[object]) -> object:
    """Return the JSON document of the only source, or None without any; for several sources, the list."""
    if len(settings.sources) > 1:
        return documents
    return documents[0] if documents else None
