"""A process and its descendants as Linux sees them, and `headwater` as a real process."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_STOP_SECONDS = 60


def read_cpu_seconds(pid: int) -> float:
    """CPU time so far of a process and all its descendants, those that have ended included."""
    ticks = 0
    for member in list_family(pid):
        fields = _read_stat(member)
        # utime, stime, and the same of children that have ended: proc(5), counted after the name
        ticks += sum(int(value) for value in fields[11:15])
    return ticks / _TICKS


def read_own_cpu_seconds(pid: int) -> float:
    """CPU time so far of a process alone."""
    return sum(int(value) for value in _read_stat(pid)[11:13]) / _TICKS


def read_own_bytes(pid: int) -> int:
    """Memory of a process that no file backs; 0 once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return int(status.split("RssAnon:")[1].split()[0]) * 1024 if "RssAnon:" in status else 0


def list_family(pid: int) -> list[int]:
    """A process and all its descendants."""
    return [pid, *_iter_descendants(pid)]


def _iter_descendants(pid: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _read_stat(int(entry.name))):
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        yield from children
        waiting += children


def _read_stat(pid: int) -> list[str]:
    try:
        # The name is in brackets and may hold anything.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


@contextmanager
def run_headwater(
    config: Path, *arguments: str, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """`headwater --config CONFIG ARGUMENTS` in the background; asked to stop at the end."""
    command = [str(Path(sys.executable).parent / "headwater"), "--config", str(config), *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **(environment or {})}
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until(
    is_so: Callable[[], bool],
    seconds: float,
    what: str,
    process: "subprocess.Popen[bytes] | subprocess.Popen[str]",
) -> None:
    """Poll until it is so. Raises `TimeoutError`, or `RuntimeError` when the process ended first."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if process.poll() is not None:
            raise RuntimeError(f"the process ended with {process.returncode} before {what}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.05)


def find_free_port() -> int:
    """Return a free port of the loopback address, for a server that cannot choose one itself."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
