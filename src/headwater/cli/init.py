"""`headwater init`: writes a first headwater.yaml for the existing files."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_text


class SourceKind(str, Enum):
    """The type of the source."""

    local = "local"
    s3 = "s3"
    gcs = "gcs"
    azure = "azure"
    kafka = "kafka"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(  # noqa: PLR0913 - one parameter per option
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder for headwater.yaml. Default: the current one.")
    ] = Path(),
    *,
    source: Annotated[SourceKind, typer.Option(help="Type of the source.")] = SourceKind.local,
    path: Annotated[
        Path | None, typer.Option(metavar="DIR", help="local: folder to watch. Default: landing.")
    ] = None,
    lake: Annotated[
        str | None, typer.Option(metavar="DIR", help="Location of the tables. Default: lake.")
    ] = None,
    bucket: Annotated[str | None, typer.Option(metavar="B", help="s3, gcs: bucket to ingest.")] = None,
    queue_url: Annotated[
        str | None, typer.Option(metavar="URL", help="s3: queue that receives the bucket's notifications.")
    ] = None,
    subscription: Annotated[
        str | None,
        typer.Option(metavar="S", help="gcs: existing subscription with the bucket's notifications."),
    ] = None,
    account: Annotated[str | None, typer.Option(metavar="A", help="azure: storage account.")] = None,
    container: Annotated[str | None, typer.Option(metavar="C", help="azure: container to ingest.")] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="Q", help="azure: storage queue with the container's events.")
    ] = None,
    bootstrap: Annotated[
        str | None, typer.Option(metavar="B", help="kafka: addresses of brokers, such as broker-1:9092.")
    ] = None,
    topic: Annotated[str | None, typer.Option(metavar="T", help="kafka: topic to ingest.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Write a commented headwater.yaml, with one table per folder and file format found."""
    from headwater.config.scaffold import ScaffoldRequest, write_scaffold

    request = ScaffoldRequest(
        folder=folder,
        source=source.value,
        path=path,
        lake=lake,
        bucket=bucket,
        queue_url=queue_url,
        subscription=subscription,
        account=account,
        container=container,
        queue=queue,
        bootstrap=bootstrap,
        topic=topic,
        force=force,
    )
    scaffold = write_scaffold(request)
    if as_json:
        render_json(scaffold)
        return
    render_text(f"Wrote {scaffold.config_path} with {_list_tables(scaffold.tables)}.")
    for note in scaffold.notes:
        render_text(f"  - {note}")
    command = "up" if request.needs_resources else "run --once"
    render_text(f"Next: headwater --config {scaffold.config_path} {command}")


def _list_tables(names: tuple[str, ...]) -> str:
    return f"table {names[0]}" if len(names) == 1 else f"{len(names)} tables ({', '.join(names)})"
