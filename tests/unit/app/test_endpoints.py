"""The endpoints of a run: served inside their block only, and a clear error before Spark starts."""

import errno
import json
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.app.endpoints import serve_endpoints
from headwater.cli.main import app
from headwater.cli.run import find_address
from headwater.config.listen_address import ListenAddress
from headwater.errors import PlatformError
from headwater.observability.part_board import PartBoard
from tests.fixtures.free_port import find_free_port
from tests.fixtures.lakes import load_fixture_settings


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_metrics_and_states_are_served_inside_the_block() -> None:
    address, board = ListenAddress("127.0.0.1", find_free_port()), PartBoard()
    board.add("session").note("up")
    with serve_endpoints(address, board) as metrics:
        assert metrics is not None
        metrics.count("events_committed", 2)
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
            assert b"headwater_events_committed_total 2.0" in answer.read()
        with urllib.request.urlopen(f"http://{address}/healthz", timeout=5) as answer:
            assert list(json.load(answer)["parts"]) == ["session"]
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://{address}/healthz", timeout=5)


def test_nothing_is_served_without_an_address() -> None:
    with serve_endpoints(None, PartBoard()) as metrics:
        assert metrics is None


def test_a_port_in_use_is_an_error_of_the_machine(taken_port: int) -> None:
    address = ListenAddress("127.0.0.1", taken_port)
    with pytest.raises(PlatformError) as raised, serve_endpoints(address, PartBoard()):
        pass
    assert raised.value.message == (
        f"cannot listen on 127.0.0.1:{taken_port} (observability.listen): another process uses this port"
    )
    assert "--metrics-port" in raised.value.hint


@pytest.mark.parametrize(
    ("host", "code", "reason"),
    [
        ("127.0.0.1", errno.EACCES, "this user may not use the port"),
        ("192.0.2.1", errno.EADDRNOTAVAIL, "no network interface of this machine has this address"),
        ("127.0.0.1", errno.EMFILE, "Too many open files"),
    ],
)
def test_other_causes_are_named(host: str, code: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, "Too many open files")

    monkeypatch.setattr("headwater.app.endpoints.Endpoints", fail)
    with pytest.raises(PlatformError, match=reason), serve_endpoints(ListenAddress(host, 80), PartBoard()):
        pass


def test_the_option_takes_precedence_over_the_configuration(tmp_path: Path) -> None:
    settings = load_fixture_settings(tmp_path)
    assert find_address(settings, None) is None
    watched = {"observability": settings.observability.model_copy(update={"listen": "[::]:9108"})}
    settings = settings.model_copy(update=watched)
    assert find_address(settings, None) == ListenAddress("::", 9108)
    assert find_address(settings, 9464) == ListenAddress("127.0.0.1", 9464)


@pytest.mark.parametrize("by_option", [True, False])
def test_run_exits_with_1_before_spark_starts(taken_port: int, tmp_path: Path, by_option: bool) -> None:
    (tmp_path / "in").mkdir()
    config = tmp_path / "headwater.yaml"
    listen = "" if by_option else f"observability: {{listen: '127.0.0.1:{taken_port}'}}\n"
    config.write_text(
        f"source: {{type: local, path: in}}\nlake: lake\ntables: {{t: {{path: '*.json'}}}}\n{listen}"
    )
    words = ["--metrics-port", str(taken_port)] if by_option else []
    done = CliRunner().invoke(app, ["-c", str(config), "run", *words])
    assert done.exit_code == 1
    assert f"cannot listen on 127.0.0.1:{taken_port}" in done.stderr
