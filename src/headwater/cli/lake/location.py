"""Options of commands that use a second location."""

from typing import Annotated

import typer

Region = Annotated[
    str | None,
    typer.Option("--region", help="Region of an s3:// location. Default: that of `lake_storage`."),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="Endpoint of an S3-compatible store. Default: that of `lake_storage`.",
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        "--threads", min=1, max=256, help="Files to copy at the same time; up to 25 MB of memory each."
    ),
]
DEFAULT_THREADS = 16
