"""`/metrics`, `/healthz` and `/readyz` as probes and scrapers see them: real requests to a real server."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from headwater.observability.endpoints import Endpoints
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard


@dataclass
class Run:
    board: PartBoard
    metrics: Metrics
    endpoints: Endpoints

    def ask(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        with closing(http.client.HTTPConnection("127.0.0.1", self.endpoints.port, timeout=10)) as connection:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            self.body = response.read().decode()
            return response

    def ask_json(self, path: str) -> tuple[int, Any]:
        response = self.ask(path)
        assert response.getheader("Content-Type") == "application/json"
        return response.status, json.loads(self.body)


@pytest.fixture
def run() -> Iterator[Run]:
    board, registry = PartBoard(), CollectorRegistry()
    with closing(Endpoints("127.0.0.1", 0, board, registry)) as endpoints:
        yield Run(board, Metrics(registry), endpoints)


def test_health_lists_every_part_with_its_state(run: Run) -> None:
    run.board.add("session").note("up")
    run.board.add("table-orders").retry("no space left")
    status, found = run.ask_json("/healthz")
    assert (status, found["health"], list(found["parts"])) == (200, "degraded", ["session", "table-orders"])
    assert set(found["parts"]["session"]) == {"status", "since"}
    orders = found["parts"]["table-orders"]
    assert (orders["status"], orders["error"], orders["attempt"]) == ("retrying", "no space left", 1)


def test_a_dead_part_makes_the_run_unhealthy(run: Run) -> None:
    run.board.add("session").note("up")
    assert run.ask_json("/healthz")[0] == 200
    run.board.add("index").fail("a bug")
    status, found = run.ask_json("/healthz")
    assert (status, found["health"], found["parts"]["index"]["error"]) == (503, "failed", "a bug")
    assert run.ask_json("/readyz") == (503, {"ready": False, "reason": "index: failed: a bug"})


def test_readiness_follows_the_start(run: Run) -> None:
    session, table = run.board.add("session"), run.board.add("table-orders")
    reason = "the Spark session is starting; table-orders: starting"
    assert run.ask_json("/readyz") == (503, {"ready": False, "reason": reason})
    session.note("up")
    table.note("waiting")
    assert run.ask_json("/readyz") == (200, {"ready": True, "reason": ""})


def test_metrics_have_the_format_that_the_client_accepts(run: Run) -> None:
    run.metrics.count("events_committed", 3)
    plain = run.ask("/metrics")
    assert plain.getheader("Content-Type", "").startswith("text/plain; version=0.0.4")
    assert "headwater_events_committed_total 3.0" in run.body
    accepted = "application/openmetrics-text; version=1.0.0"
    assert run.ask("/metrics?x=1", Accept=accepted).getheader("Content-Type", "").startswith(accepted)
    assert run.body.endswith("# EOF\n")


def test_head_has_the_headers_only(run: Run) -> None:
    response = run.ask("/healthz", "HEAD")
    assert (response.status, run.body) == (200, "")
    assert int(response.getheader("Content-Length", "0")) > 0


def test_other_paths_are_not_found(run: Run) -> None:
    assert run.ask_json("/status") == (404, {"error": "unknown path; allowed: /metrics, /healthz, /readyz"})


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_other_methods_are_not_allowed(run: Run, method: str) -> None:
    response = run.ask("/healthz", method)
    assert (response.status, response.getheader("Allow")) == (405, "GET, HEAD")


def test_a_failure_is_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("a secret of the implementation")

    monkeypatch.setattr(run.board, "read", fail)
    assert run.ask_json("/healthz") == (500, {"error": "internal error; see the log"})


def test_a_client_that_sends_nothing_blocks_no_other(run: Run) -> None:
    with socket.create_connection(("127.0.0.1", run.endpoints.port)):
        assert run.ask_json("/healthz")[0] == 200


def test_ipv6_is_served() -> None:
    try:
        endpoints = Endpoints("::1", 0, PartBoard(), CollectorRegistry())
    except OSError as error:
        pytest.skip(f"no IPv6 on this machine: {error}")
    with (
        closing(endpoints),
        closing(http.client.HTTPConnection("::1", endpoints.port, timeout=10)) as connection,
    ):
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200


def test_a_port_in_use_is_an_error_and_a_closed_one_is_free(run: Run) -> None:
    port = run.endpoints.port
    with pytest.raises(OSError, match="in use"):
        Endpoints("127.0.0.1", port, PartBoard(), CollectorRegistry())
    run.endpoints.close()
    Endpoints("127.0.0.1", port, PartBoard(), CollectorRegistry()).close()
