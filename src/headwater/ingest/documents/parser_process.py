"""`ParserProcess`: a process that parses documents and may be killed by one."""

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from headwater.ingest.documents.kind import DocumentKind

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from headwater.ingest.documents.worker import run; run(int(sys.argv[2]))"
)
# Parsers only compute. On a busy machine, a second of CPU takes several of time.
_REAL_SECONDS = 4
_START_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """A document, the seconds of CPU that it may take, and the most characters that it may have."""

    kind: DocumentKind
    data: bytes
    seconds: float
    max_chars: int


@dataclass(frozen=True, slots=True)
class Answer:
    """`document` has title and sections; else `reason` and `error` say why there is none.

    `seconds` is the CPU that it took. `is_killed`: the process ended, and not because of the limit.
    """

    document: dict[str, Any] | None
    reason: str = ""
    error: str = ""
    seconds: float = 0.0
    is_killed: bool = False


class ParserProcess:
    """One process, started at once. It ends with its parent, after the document at hand. Not thread-safe."""

    def __init__(self, max_memory_bytes: int) -> None:
        self._max_memory = max_memory_bytes
        # Parser warnings about a document may contain anything and are not logged.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path), str(max_memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """False after the process has ended."""
        return self._process.poll() is None

    def parse(self, request: ParseRequest) -> Answer:
        """Parse a document. Afterwards, the process may have ended."""
        started = time.monotonic()
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            self._process.kill()

        timer = threading.Timer(request.seconds * _REAL_SECONDS + _START_SECONDS, give_up)
        timer.start()
        try:
            line = self._exchange(request)
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            found: dict[str, Any] = json.loads(line)
            if "error" in found:
                return Answer(None, found["reason"], found["error"], found["seconds"])
            return Answer(found, seconds=found["seconds"])
        self._process.kill()
        code = self._process.wait()
        if is_late.is_set() or code == -signal.SIGPROF:
            return Answer(None, "slow", f"parsing takes longer than {request.seconds:.3g} s", request.seconds)
        taken = min(time.monotonic() - started, request.seconds)
        return Answer(None, "unparsable", f"its parser exited with code {code}", taken, is_killed=True)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with suppress(OSError):
                    stream.close()

    def _exchange(self, request: ParseRequest) -> bytes:
        """Return the answer; without an end if the process ended, or answers more than its memory holds."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - both are pipes
        assert stdout is not None  # noqa: S101
        header = {
            "kind": request.kind,
            "size": len(request.data),
            "seconds": request.seconds,
            "max_chars": request.max_chars,
        }
        with suppress(BrokenPipeError):
            stdin.write(json.dumps(header).encode() + b"\n")
            stdin.write(request.data)
            stdin.flush()
            return stdout.readline(self._max_memory)
        return b""
