"""`ServerProcess`: a service on this machine, in a process of its own."""

import http.client
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar, TypeVar

from headwater.errors import PlatformError

HOST = "127.0.0.1"
_START_TRIES = 3

_Self = TypeVar("_Self", bound="ServerProcess")


class ServerProcess(ABC):
    """One server with empty memory, on a free port; a context manager. `folder` gets its log."""

    title: ClassVar[str]
    """What it is, for error messages: `the S3 emulator`."""
    log_name: ClassVar[str]
    ready_path: ClassVar[str] = "/"
    """Path that the server answers as soon as it is ready."""
    ready_status: ClassVar[int] = 200

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log_path = folder / self.log_name
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def build_command(self) -> Sequence[str]:
        """Return the command that serves `port`. Raises `PlatformError` if it is not installed."""

    def build_environment(self) -> Mapping[str, str] | None:
        """Return the environment of the process; None: that of this one."""
        return None

    @property
    def endpoint(self) -> str:
        """Return the URL of the service."""
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Return the process id while it runs."""
        return self._process.pid if self._process else None

    def start(self, deadline_seconds: float = 60) -> None:
        """Start on a free port and return when it answers.

        Raises `PlatformError` when it does not within `deadline_seconds`; the message names the log.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + deadline_seconds
        for _ in range(_START_TRIES):
            self.port = find_free_port()
            self._launch()
            if self._wait_until_ready(deadline):
                return
            self.stop()
        raise PlatformError(
            f"{self.title} did not start within {deadline_seconds:g} s; its log: {self.log_path}",
            hint=f"read the log; run {self.build_command()[0]} manually",
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

    def __enter__(self: _Self) -> _Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _launch(self) -> None:
        command = list(self.build_command())
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=self.build_environment(),
                cwd=self.folder,
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
            if self.answers():
                return True
            time.sleep(0.05)
        return False

    def answers(self) -> bool:
        """Return whether it is ready."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=2)
        try:
            connection.request("GET", self.ready_path)
            return connection.getresponse().status == self.ready_status
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def find_free_port() -> int:
    """Return a port of the loopback interface that is free now."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
