"""The built wheel in an environment of its own, away from the clone: by command and by the Python API."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from headwater.lake.prerequisites.prepared_start import FOLDER_VARIABLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
UV = Path(sys.prefix) / "bin" / "uv"
PROGRAM = """
import headwater as hw
with hw.open() as lake:
    assert lake.run().tables["orders"].commits == 0
    print(lake["orders"].to_arrow().num_rows, hw.__file__)
"""
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
Run = Callable[..., str]


def find_python(version: str) -> str | None:
    """Return a Python of that version: this one, one on the PATH, or one of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    others = [shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python")]
    for python in map(str, filter(None, (sys.executable, *others))):
        asked = [python, "-c", "import sys; print('%s.%s' % sys.version_info[:2])"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
        if said.returncode == 0 and said.stdout.strip() == version:
            return python
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def create_environment(folder: Path, interpreter: str) -> tuple[list[str], dict[str, str]]:
    """Create an environment without packages; return the command that installs one, and the variables."""
    subprocess.run([UV, "venv", "--quiet", "--python", interpreter, folder / "venv"], check=True)
    environ = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environ |= {
        "PATH": f"{folder / 'venv/bin'}:{os.environ['PATH']}",
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        # Jars that are there already; a user's first run downloads them.
        FOLDER_VARIABLE: os.environ.get(FOLDER_VARIABLE) or str(Path(sys.prefix) / "share/headwater/spark"),
    }
    return [str(UV), "pip", "install", "--quiet", "--python", str(folder / "venv/bin/python")], environ


def build_run(folder: Path, environ: Mapping[str, str]) -> Run:
    def call(*command: str) -> str:
        done = subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


@pytest.fixture(scope="module", params=PYTHONS)
def run(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    interpreter = find_python(request.param)
    if interpreter is None:
        pytest.skip(f"no Python {request.param} on this machine")
    folder = tmp_path_factory.mktemp("elsewhere")
    install, environ = create_environment(folder, interpreter)
    locked = ["--no-deps", "--require-hashes", "-r", str(ROOT / "requirements/runtime.txt")]
    subprocess.run([*install, *locked], check=True)
    subprocess.run([*install, "--no-deps", wheel], check=True)
    return build_run(folder, environ)


def test_the_wheel_has_what_the_package_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("headwater/")}
    tracked = subprocess.run(
        ["git", "ls-files", "src/headwater"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {name.removeprefix("src/") for name in tracked} <= shipped
    assert "headwater/py.typed" in shipped


def test_from_a_folder_of_files_to_rows(run: Run, tmp_path: Path) -> None:
    assert run("headwater", "--version").startswith("headwater ")
    folder = Path(run("python", "-c", "import os; print(os.getcwd())").strip())
    (folder / "landing" / "orders").mkdir(parents=True)
    rows = [{"id": number, "price": number / 2} for number in range(3)]
    (folder / "landing/orders/a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("headwater", "init")
    assert "is valid" in run("headwater", "config", "check")
    run("headwater", "run", "--once")
    assert run("headwater", "sql", "select count(*) as n from orders", "--json") == '{"n": 3}\n'
    said = run("python", "-c", PROGRAM).split()
    assert said[0] == "3"
    assert not Path(said[1]).is_relative_to(ROOT)


def test_demo_and_server_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    install, environ = create_environment(tmp_path, sys.executable)
    # Only what the extra names; of the versions that are locked.
    locked = (ROOT / "requirements/dev.txt").read_text()
    pins = re.findall(r"^[\w.-]+==[^\\\n]+", locked, re.MULTILINE)
    (tmp_path / "locked.txt").write_text("\n".join(pins))
    wanted = ["--constraint", str(tmp_path / "locked.txt"), f"headwater[search] @ {wheel.as_uri()}"]
    subprocess.run([*install, *wanted], check=True)
    said = build_run(tmp_path, environ)("headwater", "demo", "--seconds", "5")
    assert "every row is in its table exactly once" in said
    (config,) = tmp_path.glob("demo/run-*/headwater.yaml")
    command = ["headwater", "--config", str(config), "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            (address,) = re.findall(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
            body = json.dumps({"query": "a pan for the oven"}).encode()
            asked = Request(address + "search", body, {"Content-Type": "application/json"})
            with urlopen(asked, timeout=60) as answer:
                assert json.load(answer)["hits"][0]["id"] == "P-108"
        finally:
            server.terminate()
