"""`Endpoints`: `/metrics`, `/healthz` and `/readyz` of a run over HTTP."""

import json
import socket
import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from headwater.observability.part_board import PartBoard
from headwater.observability.part_state import PartState, find_obstacles, judge_health

log = structlog.stdlib.get_logger(__name__)

PATHS = ("/metrics", "/healthz", "/readyz")
_JSON = "application/json"
_METHODS = ("GET", "HEAD")
_POLL_SECONDS = 0.1
_REQUEST_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a request, without headers that the protocol adds."""

    status: HTTPStatus
    content_type: str
    body: bytes


def build_answer(target: str, accept: str, board: PartBoard, registry: CollectorRegistry) -> Answer:
    """Return the answer to a GET of the target; `accept` is the header of that name."""
    path = urlsplit(target).path
    if path == "/metrics":
        encode, content_type = choose_encoder(accept)
        return Answer(HTTPStatus.OK, content_type, encode(registry))
    if path == "/healthz":
        return _answer_health(board.read())
    if path == "/readyz":
        reason = "; ".join(find_obstacles(board.read()))
        return _build_json(not reason, {"ready": not reason, "reason": reason})
    return Answer(
        HTTPStatus.NOT_FOUND, _JSON, _write({"error": f"unknown path; allowed: {', '.join(PATHS)}"})
    )


def _answer_health(states: dict[str, PartState]) -> Answer:
    health = judge_health(states.values())
    parts = {name: describe_state(state) for name, state in states.items()}
    return _build_json(health != "failed", {"health": health, "parts": parts})


def describe_state(state: PartState) -> dict[str, object]:
    """Return the state as JSON-like data; `error` and `attempt` only if there are any."""
    told: dict[str, object] = {"status": state.status, "since": state.since.isoformat()}
    return (
        told
        | ({"error": state.error} if state.error else {})
        | ({"attempt": state.attempt} if state.attempt else {})
    )


def _build_json(is_good: bool, content: object) -> Answer:
    status = HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(status, _JSON, _write(content))


def _write(content: object) -> bytes:
    return json.dumps(content, indent=2).encode() + b"\n"


class Endpoints:
    """Answers in threads of its own until `close`. Raises `OSError` if the address cannot be used."""

    def __init__(self, host: str, port: int, board: PartBoard, registry: CollectorRegistry) -> None:
        self._server = _Server(host, port, board, registry)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="endpoints", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """Return the port; useful if 0, for any free one, was given."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Release the port. Idempotent."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # With it, a second server would silently share the port instead of failing.
    allow_reuse_port = False

    def __init__(self, host: str, port: int, board: PartBoard, registry: CollectorRegistry) -> None:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        self.board = board
        self.registry = registry
        super().__init__((str(address[0]), int(address[1])), _Requests)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            # `[::]` then includes IPv4, whatever the default of the system is.
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # HTTPServer also asks DNS for the host's name, which can take seconds, and needs it for CGI only.
        TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that closes its connection early is none of this server's business.
        del request
        log.debug("request aborted", client=str(client_address))


class _Requests(BaseHTTPRequestHandler):
    server: _Server
    server_version = "headwater"
    sys_version = ""
    timeout = _REQUEST_SECONDS

    def __getattr__(self, name: str) -> Any:
        # The base class looks up `do_` and the method; without an attribute it answers 501.
        if name.startswith("do_"):
            return self._respond
        raise AttributeError(name)

    def _respond(self) -> None:
        try:
            found = self._find_answer()
        except Exception:
            log.exception("request failed", path=self.path)
            found = Answer(
                HTTPStatus.INTERNAL_SERVER_ERROR, _JSON, _write({"error": "internal error; see the log"})
            )
        self.send_response(found.status)
        self.send_header("Content-Type", found.content_type)
        self.send_header("Content-Length", str(len(found.body)))
        self.send_header("Cache-Control", "no-store")
        if found.status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", ", ".join(_METHODS))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    def _find_answer(self) -> Answer:
        if self.command not in _METHODS:
            text = f"method not allowed; allowed: {', '.join(_METHODS)}"
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, _JSON, _write({"error": text}))
        server = self.server
        return build_answer(self.path, self.headers.get("Accept", ""), server.board, server.registry)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Log nothing: a probe every few seconds would hide the events of the run."""
