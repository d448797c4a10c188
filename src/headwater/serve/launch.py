"""Starts a server from the configuration: in this process, or with several workers."""

import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from headwater.app.pipeline_state import read_pipeline_state
from headwater.app.search.following import IndexFollower
from headwater.app.search.index import SearchIndex
from headwater.app.search.live import LiveSearch
from headwater.app.search.wiring import find_search
from headwater.config.environment import (
    CONFIG_VARIABLE,
    LAKE_NAME_VARIABLE,
    PREFIX,
    find_config_path,
    read_environment,
    temporary_environment,
)
from headwater.config.loader import load_settings
from headwater.config.search.keys import API_KEYS_VARIABLE, parse_api_keys
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, PlatformError, UsageError
from headwater.rag.language_models import build_language_model
from headwater.rag.language_models.protocol import LanguageModel
from headwater.rag.prompts import load_prompt
from headwater.rag.recommender import AnswerRules
from headwater.serve.api import build_api, build_service

STOP_SECONDS = 10
BACKLOG = 2_048
_STARTING_SECONDS = 0.02
log = structlog.stdlib.get_logger(__name__)


def open_lake_search(
    settings: Settings, environ: Mapping[str, str], *, syncs: bool, builds: bool = True
) -> LiveSearch:
    """Open the live index; see `LiveSearch.open`. Raises `HeadwaterError` with the next step."""
    index = SearchIndex(settings, environ=environ)
    search = LiveSearch(index, syncs=syncs)
    try:
        search.open(builds=builds)
    except BaseException:
        search.close()
        raise
    return search


def build_lake_api(settings: Settings, environ: Mapping[str, str], search: LiveSearch) -> FastAPI:
    """Build the API of a lake, which closes `search` when it ends. Raises `ConfigError` for bad keys."""
    config = find_search(settings)
    keys = parse_api_keys(environ.get(API_KEYS_VARIABLE, ""), needs_tenant=config.tenant is not None)
    model, rules = build_answering(settings, environ)
    service = build_service(
        config.serve,
        search,
        lambda: read_pipeline_state(settings),
        model=model,
        keys=keys,
        rules=rules,
        page=config.page,
    )
    return build_api(service, search.refresh, search.close, search.learn_words)


def build_answering(
    settings: Settings, environ: Mapping[str, str]
) -> tuple[LanguageModel | None, AnswerRules]:
    """Build the language model, if there is one, and the rules of answers. Raises `HeadwaterError`."""
    config = find_search(settings)
    language = config.language_model
    rules = AnswerRules(
        config.answer,
        config.title_columns,
        language.timeout if language else 0,
    )
    return build_language_model(language, environ, load_prompt(config.answer)), rules


def bind(host: str, port: int) -> socket.socket:
    """Return a bound socket; port 0 selects a free one. Raises `PlatformError` if the port is in use or not
    permitted."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise PlatformError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            hint="choose another port with --port, or 0 for a free one: this one may be in use",
        ) from error
    bound.set_inheritable(True)
    return bound


def serve(api: FastAPI, bound: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, then finish open requests."""
    _Server(_configure(api)).run(sockets=[bound])


@contextmanager
def serve_in_background(api: FastAPI, bound: socket.socket) -> Iterator[int]:
    """Serve in a separate thread while the block runs; yield the port."""
    server = uvicorn.Server(_configure(api))
    thread = threading.Thread(target=server.run, args=([bound],), name="api", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(_STARTING_SECONDS)
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(STOP_SECONDS * 2)
        bound.close()


def serve_with_workers(
    bound: socket.socket,
    workers: int,
    settings: Settings,
    config: Path,
    overrides: Mapping[str, str],
    lake_name: str = "",
) -> None:
    """Serve in `workers` processes; this process keeps the index up to date for all of them."""
    # Spawned processes: `create_worker` finds its configuration in these variables.
    variables: dict[str, str | None] = {CONFIG_VARIABLE: str(config.absolute())}
    if lake_name:
        variables[LAKE_NAME_VARIABLE] = lake_name
    variables |= {PREFIX + "__".join(key.split(".")): text for key, text in overrides.items()}
    with temporary_environment(variables), _keep_synced(settings):
        server = _configure("headwater.serve.launch:create_worker", factory=True, workers=workers)
        Multiprocess(server, [bound]).run()


def create_worker() -> FastAPI:
    """Build the API in a worker; uvicorn calls it, and starts another worker in place of one that exits."""
    from headwater.observability.logging import configure_logging

    configure_logging(verbose=False, json=False)
    environ = read_environment()
    settings = load_settings(find_config_path(None, environ), environ)
    try:
        return build_lake_api(settings, environ, open_lake_search(settings, environ, syncs=False))
    except HeadwaterError as error:
        # The store may be unavailable at this moment; the other workers continue.
        log.error("worker not started; starting another one", error=str(error))  # noqa: TRY400 - no traceback
        raise SystemExit(1) from error


def check_workers(settings: Settings, workers: int) -> None:
    """Raise `UsageError` if the store supports only one process."""
    store = settings.search.store if settings.search else None
    if workers > 1 and store is not None and not store.is_server:
        raise UsageError(
            f"--workers {workers}: a `{store.type}` store supports only one process",
            hint="use a server: search.store: {type: qdrant, url: ...} or {type: pgvector, url: ...}; "
            "or --workers 1",
        )


def _configure(app: FastAPI | str, **options: bool | int) -> uvicorn.Config:
    # We write the access log, with ids and without queries; client addresses come only from the peer itself.
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=STOP_SECONDS,
        **options,  # type: ignore[arg-type]  # two of its many parameters
    )


class _Server(uvicorn.Server):
    """A server that exits normally on a signal: uvicorn would raise the signal again at its end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            del number, frame
            self.should_exit = True

        before = {number: signal.signal(number, ask_to_stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _keep_synced(settings: Settings) -> Iterator[None]:
    interval = find_search(settings).serve.sync_interval
    stop = threading.Event()
    index = SearchIndex(settings)
    follower = IndexFollower(index)

    def follow() -> None:
        while not stop.wait(interval):
            try:
                follower.sync()
            except HeadwaterError as error:
                log.warning("index sync failed; retrying", error=str(error))
                stop.wait(interval * 5)

    thread = threading.Thread(target=follow, name="sync", daemon=True)
    if interval:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if thread.is_alive():
            thread.join(STOP_SECONDS)
        index.close()
