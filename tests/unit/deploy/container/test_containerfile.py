"""The Containerfile agrees with the product, and its linter accepts it."""

import json
import re
import subprocess
from fnmatch import fnmatch

import pytest
from packaging.specifiers import SpecifierSet
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.config.environment import CONFIG_VARIABLE
from headwater.config.listen_address import parse_listen_address
from headwater.config.loader import parse_settings
from headwater.lake.prerequisites.java import SUPPORTED_MAJORS
from headwater.lake.prerequisites.packages import HUDI_BUNDLE
from headwater.observability.endpoints import PATHS
from tests.fixtures.deploy import DEPLOY, ROOT, find_program

PATH = DEPLOY / "container/Containerfile"
TEXT = PATH.read_text("utf-8")
CONFIG = "source: {type: s3, bucket: b}\nlake: s3a://l/x\ntables: {orders: {path: '*.json'}}\n"


def list_instructions():
    """Return instruction and argument of each line, with continued lines joined."""
    code = "\n".join(line for line in TEXT.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", "", code)
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


INSTRUCTIONS = list_instructions()


def find_last(name):
    return [argument for instruction, argument in INSTRUCTIONS if instruction == name][-1]


def read_environment():
    text = " ".join(argument for name, argument in INSTRUCTIONS if name == "ENV")
    return dict(re.findall(r"(\w+)=(\S+)", text))


def test_linter_accepts_it():
    hadolint = find_program("hadolint", "make check-deploy")
    done = subprocess.run([hadolint, str(PATH)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_process_is_not_root_and_gets_the_signals_directly():
    user, group = find_last("USER").split(":")
    assert int(user) == int(group) >= 10_000, "Kubernetes checks runAsNonRoot by the number"
    assert f"--uid {user}" in TEXT
    assert json.loads(find_last("ENTRYPOINT")) == ["tini", "--", "headwater"]


def test_its_command_exists():
    command = json.loads(find_last("CMD"))
    assert CliRunner().invoke(app, [*command, "--help"]).exit_code == 0


def test_environment_is_that_of_headwater():
    environ = read_environment()
    assert environ[CONFIG_VARIABLE] == "/etc/headwater/headwater.yaml"
    settings = parse_settings(CONFIG, PATH, environ)
    assert settings.observability.listen is not None
    address = parse_listen_address(settings.observability.listen)
    assert address.host == "0.0.0.0"
    assert find_last("EXPOSE") == str(address.port)
    probe = find_last("HEALTHCHECK")
    (path,) = re.findall(rf"http://127\.0\.0\.1:{address.port}(/\w+)", probe)
    assert path in PATHS


def test_everything_that_is_written_at_run_time_is_below_tmp():
    environ = read_environment()
    (home,) = re.findall(r"--home-dir (\S+)", TEXT)
    assert {home, environ["HOME"], find_last("WORKDIR")} == {"/tmp"}
    assert environ["XDG_STATE_HOME"].startswith("/tmp/")


def test_versions_are_those_of_the_product():
    (python,) = re.findall(r"^ARG PYTHON=(\S+)", TEXT, re.MULTILINE)
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    (wanted,) = re.findall(r'^requires-python = "(.+)"', pyproject, re.MULTILINE)
    assert SpecifierSet(wanted).contains(python)
    (java,) = re.findall(r"openjdk-(\d+)-jre-headless", TEXT)
    assert int(java) in SUPPORTED_MAJORS
    (packages,) = re.findall(r'^ARG PACKAGES="(.*)"', TEXT, re.MULTILINE)
    assert {package.split(":")[2] for package in packages.split()} == {HUDI_BUNDLE.split(":")[2]}


def test_all_that_is_copied_is_in_the_build_context():
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    admitted = [line[1:] for line in ignored if line.startswith("!")]
    assert "*" in ignored
    copied = [argument for name, argument in INSTRUCTIONS if name == "COPY" and "--from" not in argument]
    for path in (word.rstrip("/") for argument in copied for word in argument.split()[:-1]):
        assert (ROOT / path).exists()
        assert any(fnmatch(path, pattern) for pattern in admitted), path


def test_constraints_of_extras_name_every_pin_of_the_lock():
    (expression,) = re.findall(r"sed -nE '([^']+)'", TEXT)
    lock = ROOT / "requirements/dev.txt"
    done = subprocess.run(
        ["sed", "-nE", expression, str(lock)], capture_output=True, text=True, timeout=30, check=True
    )
    pins = re.findall(r"^\S+==\S+", lock.read_text("utf-8"), re.MULTILINE)
    lines = done.stdout.splitlines()
    assert len(lines) == len(pins) > 100
    # pip allows no extras in constraints.
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[^ ;\\]+( ; .+)?", line.rstrip())] == []


@pytest.mark.parametrize("variable", ["EXTRAS", "PACKAGES", "VERSION", "REVISION", "PYTHON"])
def test_every_build_argument_is_documented(variable):
    page = (ROOT / "docs/how-to/deploy/containers.md").read_text("utf-8")
    assert f"`{variable}`" in page
