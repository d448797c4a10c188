"""`headwater serve`: search and recommendations over HTTP, and a page; no JVM."""

import ipaddress
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation
from headwater.cli.rendering import render_text

if TYPE_CHECKING:
    from headwater.rag.searcher import Freshness

DEFAULT_PORT = 8080


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(
    ctx: typer.Context,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for any free port.")
    ] = DEFAULT_PORT,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=1,
            max=64,
            help="Number of processes; more than one requires a store on a server.",
        ),
    ] = 1,
) -> None:
    """Serve /search, /recommend and a search page from the index, and keep the index in sync.

    Reads the API keys from HEADWATER_API_KEYS, and the language model's key from HEADWATER_LLM_API_KEY.
    """
    from headwater.config.extras.packages import ensure_extra

    ensure_extra("search", "`headwater serve`")
    from headwater.app.search.wiring import find_search
    from headwater.config.environment import read_environment
    from headwater.config.search.keys import API_KEYS_VARIABLE, parse_api_keys
    from headwater.serve import launch

    invocation = Invocation.of(ctx)
    settings, environ = invocation.load_settings(), read_environment()
    search = find_search(settings)
    keys = parse_api_keys(environ.get(API_KEYS_VARIABLE, ""), needs_tenant=search.tenant is not None)
    launch.check_workers(settings, workers)
    with launch.bind(host, port) as bound:
        # Building the first version takes a minute for 200,000 rows, during which probes get an answer.
        syncs = workers == 1 and search.serve.sync_interval > 0
        live = launch.open_lake_search(settings, environ, syncs=syncs, builds=False)
        # A reader of the line may connect at once.
        bound.listen(launch.BACKLOG)
        _print_address(host, bound.getsockname()[1], live.freshness(), has_keys=bool(keys))
        if workers == 1:
            launch.serve(launch.build_lake_api(settings, environ, live), bound)
            return
        live.close()
        config = (invocation.config_path, invocation.overrides, invocation.lake_name)
        launch.serve_with_workers(bound, workers, settings, *config)


def _print_address(host: str, port: int, known: "Freshness", *, has_keys: bool) -> None:
    url_host = f"[{host}]" if ":" in host else host
    found = f"index {known.index_version} ({known.points:,} chunks)"
    # Flush at once: scripts wait for this line.
    render_text(
        f"serving {found if known.index_version else 'an index that is being built'} on "
        f"http://{url_host}:{port}/  (press Ctrl-C to stop)"
    )
    if not has_keys and not _is_loopback(host):
        render_text("HEADWATER_API_KEYS is not set: requests need no key")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
