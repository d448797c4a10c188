"""The shipped systemd unit: SIGTERM reaches Python only, and systemd waits longer than a stop takes."""

from configparser import ConfigParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.cli.signals import STOP_SECONDS

UNIT = Path(__file__).parents[3] / "deploy/systemd/headwater.service"


@pytest.fixture
def service() -> dict[str, str]:
    parser = ConfigParser(interpolation=None, comment_prefixes="#")
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # keys of units have capitals
    parser.read(UNIT, "utf-8")
    return dict(parser["Service"])


def test_stops_the_way_headwater_expects(service: dict[str, str]) -> None:
    assert (service["KillMode"], service["KillSignal"]) == ("mixed", "SIGTERM")
    assert int(service["TimeoutStopSec"]) > STOP_SECONDS
    assert service["RestartPreventExitStatus"] == "2"


def test_the_command_it_starts_exists(service: dict[str, str]) -> None:
    _, *words = service["ExecStart"].split()
    assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0
