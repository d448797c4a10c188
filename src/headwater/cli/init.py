"""`headwater init`: writes a first headwater.yaml for the existing files."""

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_text

_MOST_CHECKS = 5


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
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder to watch, or a bucket such as s3://acme-landing/orders. Default: landing.",
        ),
    ] = None,
    lake: Annotated[
        str | None, typer.Option(metavar="DIR", help="Location of the tables. Default: lake.")
    ] = None,
    bucket: Annotated[str | None, typer.Option(metavar="B", help="s3, gcs: bucket to ingest.")] = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="P", help="s3, gcs, azure: ingest only keys with this prefix.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="s3, gcs, azure: endpoint of a compatible store.")
    ] = None,
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
    inspect: Annotated[
        bool, typer.Option("--inspect/--no-inspect", help="List the source and read samples of its files.")
    ] = True,
    as_json: JsonFlag = False,
) -> None:
    """Inspect files, and write a commented headwater.yaml with a table for each kind of them."""
    from headwater.app.inspection import initialize
    from headwater.config.environment import read_environment
    from headwater.config.scaffold import ScaffoldRequest, resolve_address

    request = resolve_address(
        ScaffoldRequest(
            folder=folder,
            source=source.value,
            path=path,
            lake=lake,
            bucket=bucket,
            prefix=prefix,
            endpoint=endpoint,
            queue_url=queue_url,
            subscription=subscription,
            account=account,
            container=container,
            queue=queue,
            bootstrap=bootstrap,
            topic=topic,
            force=force,
            inspect=inspect,
        )
    )
    scaffold = initialize(request, read_environment())
    if as_json:
        render_json(scaffold)
        return
    render_text(f"Wrote {scaffold.config_path} with {_list_tables(scaffold.tables)}.")
    for note in scaffold.notes:
        render_text(f"  - {note}")
    _render_checks(scaffold.checks)
    command = "up" if request.needs_resources else "run --once"
    render_text(f"Next: headwater --config {scaffold.config_path} {command}")


def _render_checks(checks: Mapping[str, str]) -> None:
    if not checks:
        return
    values = "1 value is" if len(checks) == 1 else f"{len(checks)} values are"
    render_text(f"{values} uncertain, and marked with `# check:` in the file:")
    for key, check in list(checks.items())[:_MOST_CHECKS]:
        render_text(f"  - {key}: {check}")
    if len(checks) > _MOST_CHECKS:
        render_text(f"  - and {len(checks) - _MOST_CHECKS} more")


def _list_tables(names: tuple[str, ...]) -> str:
    return f"table {names[0]}" if len(names) == 1 else f"{len(names)} tables ({', '.join(names)})"
