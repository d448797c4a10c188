"""S3 and SQS on this machine: the `ministack` server in a separate process.

It has a separate venv, because it pins its botocore. The demo and the tests run it.
"""

import http.client
import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from headwater.errors import PlatformError

PACKAGE = "ministack==1.5.33"
HOST = "127.0.0.1"
# It only requires that credentials exist.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
REGION = "us-east-1"
_START_TRIES = 3


def ensure_emulator(folder: Path) -> Path:
    """Return the Python of the emulator's venv, which is created in `folder` if missing.

    Needs the network the first time. Raises `PlatformError` when it cannot be installed.
    """
    python = folder / "bin" / "python"
    if _server_script(python).exists():
        return python
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PlatformError(
                f"the S3 emulator could not be installed into {folder}: {done.stderr.strip()[-500:]}",
                hint=f"check the network and pip's index, then try: {' '.join(command)}",
            )
    return python


class Emulator:
    """One emulator process with empty memory; a context manager.

    `folder` gets its log (`emulator.log`) and its temporary files. With `checks_rights` it checks each
    request against IAM and the resources' own policies.
    """

    def __init__(self, python: Path, folder: Path, *, checks_rights: bool = False) -> None:
        self._python = python
        self._folder = folder
        self._checks_rights = checks_rights
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self.log_path = folder / "emulator.log"

    @property
    def endpoint(self) -> str:
        """Return the URL of S3 and SQS."""
        return f"http://{HOST}:{self._port}"

    @property
    def pid(self) -> int | None:
        """Return the process id while it runs."""
        return self._process.pid if self._process else None

    def start(self, deadline_seconds: float = 60) -> None:
        """Start on a free port and return when it answers.

        Raises `PlatformError` when it does not within `deadline_seconds`; the message names the log.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + deadline_seconds
        for _ in range(_START_TRIES):
            self._launch()
            if self._wait_until_ready(deadline):
                return
            self.stop()
        raise PlatformError(
            f"the S3 emulator did not start within {deadline_seconds:g} s; its log: {self.log_path}",
            hint=f"read the log; run {_server_script(self._python)} manually",
        )

    def stop(self, deadline_seconds: float = 10) -> None:
        """End the process, by force after `deadline_seconds`. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(deadline_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> "Emulator":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _launch(self) -> None:
        script = _server_script(self._python)
        if not script.exists():
            raise PlatformError(
                f"{script} does not exist", hint=f"install {PACKAGE} there, or run `make setup`"
            )
        self._port = _find_free_port()
        environment = {
            "PATH": os.defpath,
            "HOME": str(self._folder),
            "TMPDIR": str(self._folder),
            "GATEWAY_PORT": str(self._port),
            "BIND_HOST": HOST,
            "LOG_LEVEL": "WARNING",
            "AUTH": "true" if self._checks_rights else "false",
        }
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._python), str(script)],
                env=environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the pipeline, which still needs its queue to drain.
                start_new_session=True,
            )

    def _wait_until_ready(self, deadline: float) -> bool:
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                return False
            if _answers(self._port):
                return True
            time.sleep(0.05)
        return False


def _server_script(python: Path) -> Path:
    return python.parent / "ministack"


def _find_free_port() -> int:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/_ministack/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
