"""The shipped systemd units: SIGTERM reaches Python only, and systemd waits longer than a stop takes."""

import re
import shutil
import subprocess
from configparser import ConfigParser
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.app.roles import ROLES
from headwater.cli.main import app
from headwater.cli.signals import STOP_SECONDS
from tests.fixtures.deploy import DEPLOY, read_roles

FOLDER = DEPLOY / "systemd"
UNITS = ("headwater.service", "headwater@.service")
INSTANCES = sorted(FOLDER.glob("*.environment"))


class RepeatableKeys(dict[str, Any]):
    """A section of a unit, in which a key may be given several times."""

    def __setitem__(self, key, value):
        if isinstance(value, list) and key in self:
            value = [*self[key], *value]
        super().__setitem__(key, value)


class UnitParser(ConfigParser):
    """Keeps the keys as they are written."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


@pytest.fixture(params=UNITS)
def service(request):
    parser = UnitParser(
        interpolation=None, comment_prefixes="#", strict=False, dict_type=RepeatableKeys, delimiters="="
    )
    parser.read(FOLDER / request.param, "utf-8")
    return dict(parser["Service"])


def test_stops_the_way_headwater_expects(service):
    assert (service["KillMode"], service["KillSignal"]) == ("mixed", "SIGTERM")
    assert int(service["TimeoutStopSec"]) > STOP_SECONDS
    assert service["RestartPreventExitStatus"] == "2"


def test_the_command_it_starts_exists(service):
    _, *words = service["ExecStart"].split()
    options = [word for word in words if word != "$HEADWATER_OPTIONS"]
    assert CliRunner().invoke(app, [*options, "--help"]).exit_code == 0


def test_jvm_may_compile_and_leases_may_read_the_boot_id(service):
    assert service["ProtectSystem"] == "strict"
    assert service["NoNewPrivileges"] == "yes"
    assert not {"MemoryDenyWriteExecute", "ProcSubset"} & service.keys()


def test_units_differ_only_in_description_and_command():
    plain, template = ((FOLDER / name).read_text("utf-8").splitlines() for name in UNITS)
    different = {line.partition("=")[0] for line in {*plain} ^ {*template} if not line.startswith("#")}
    assert different == {"Description", "EnvironmentFile", "ExecStart"}


@pytest.mark.parametrize("path", INSTANCES, ids=lambda path: path.stem)
def test_options_of_an_instance_are_those_of_a_process(path):
    (options,) = re.findall(r"^HEADWATER_OPTIONS=(.+)$", path.read_text("utf-8"), re.MULTILINE)
    only, tables = read_roles(["run", *options.split()])
    assert set(only) < set(ROLES)
    assert path.stem == "-".join([*only, *tables])


def test_instances_on_one_machine_have_different_ports():
    ports = [re.findall(r"--metrics-port (\d+)", path.read_text("utf-8"))[0] for path in INSTANCES]
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize("name", UNITS)
def test_systemd_accepts_the_unit(tmp_path, name):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed")
    # It checks that the command exists on this machine.
    text = (FOLDER / name).read_text("utf-8")
    unit = tmp_path / name.replace("@.", "@capture.")
    unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    done = subprocess.run(
        [analyze, "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    # An unknown key is only a warning.
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", UNITS)
def test_systemd_rates_the_exposure_as_low(tmp_path, name):
    analyze = shutil.which("systemd-analyze")
    if (
        analyze is None
        or "--offline"
        not in subprocess.run(
            [analyze, "--help"], capture_output=True, text=True, timeout=30, check=False
        ).stdout
    ):
        pytest.skip("systemd 250 or newer is not installed")
    unit = tmp_path / name.replace("@.", "@capture.")
    shutil.copyfile(FOLDER / name, unit)
    done = subprocess.run(
        [analyze, "security", "--offline=true", "--threshold=25", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
