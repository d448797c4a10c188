"""The HTTP endpoints of a run, from its configuration."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from prometheus_client import CollectorRegistry

from headwater.config.listen_address import ListenAddress
from headwater.errors import PlatformError
from headwater.observability.endpoints import Endpoints
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard

log = structlog.stdlib.get_logger(__name__)


@contextmanager
def serve_endpoints(
    address: ListenAddress | None, board: PartBoard, fresh_seconds: float = 0
) -> Iterator[Metrics | None]:
    """Serve metrics and the states of the board inside the block; yields the metrics.

    Objects that are committed within `fresh_seconds` have a bucket of their own; 0: none.

    Without an address nothing is served, and None is yielded. Raises `PlatformError` if the address cannot
    be used: a service manager then starts the run again, because the port may be free later.
    """
    if address is None:
        yield None
        return
    registry = CollectorRegistry()
    metrics = Metrics(registry, {"freshness_seconds": fresh_seconds} if fresh_seconds else {})
    try:
        endpoints = Endpoints(address.host, address.port, board, registry)
    except OSError as error:
        raise _explain(address, error) from error
    log.info("serving /metrics, /healthz and /readyz", address=str(address))
    try:
        yield metrics
    finally:
        endpoints.close()


def _explain(address: ListenAddress, error: OSError) -> PlatformError:
    hint = "set another address in observability.listen, or another port with --metrics-port"
    if error.errno == errno.EADDRINUSE:
        reason = "another process uses this port"
    elif error.errno == errno.EACCES:
        reason, hint = "this user may not use the port", "choose a port of at least 1024"
    elif error.errno == errno.EADDRNOTAVAIL:
        reason, hint = (
            "no network interface of this machine has this address",
            "use 127.0.0.1, 0.0.0.0 or [::]",
        )
    else:
        reason = error.strerror or str(error)
    return PlatformError(f"cannot listen on {address} (observability.listen): {reason}", hint=hint)
