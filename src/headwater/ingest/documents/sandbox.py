"""Parses documents in a separate process, bounded in time and memory, that ends with its parent."""

import atexit
import json
import subprocess
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any

from headwater.config.extras.packages import ensure_extra
from headwater.errors import ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.documents.kind import DocumentKind
from headwater.ingest.documents.section import DocumentSection, ParsedDocument

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from headwater.ingest.documents.worker import run; run(int(sys.argv[2]))"
)
_ERRORS = {"oversize": ObjectTooLargeError, "unparsable": ObjectUnreadableError}


@lru_cache(maxsize=4)
def get_sandbox(timeout_seconds: float, max_memory_bytes: int) -> "Sandbox":
    """Return this process's sandbox for these bounds; a new one takes longer to start than most documents.

    Raises `MissingExtraError` without the extra: missing parser libraries are no error of the document.
    """
    ensure_extra("documents", "`format: document`")
    return Sandbox(timeout_seconds, max_memory_bytes)


class Sandbox:
    """A worker process, started on first use and after each termination. Thread-safe."""

    def __init__(self, timeout_seconds: float, max_memory_bytes: int) -> None:
        self._timeout = timeout_seconds
        self._max_memory = max_memory_bytes
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def parse(self, uri: str, kind: DocumentKind, data: bytes) -> ParsedDocument:
        """Parse the document. Raises `ObjectUnreadableError`, also on timeout, and `ObjectTooLargeError`."""
        with self._lock:
            answer = self._ask(kind, data)
        if "error" in answer:
            raise _ERRORS[answer["reason"]](
                f"{uri} cannot be read as {kind}: {answer['error']}",
                hint="repair the document, or exclude it with `path`",
            )
        return ParsedDocument(
            answer["title"], tuple(DocumentSection(*section) for section in answer["sections"])
        )

    def close(self) -> None:
        """End the process if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    with suppress(OSError):
                        stream.close()

    def _ask(self, kind: DocumentKind, data: bytes) -> dict[str, Any]:
        process = self._start()
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(self._timeout, give_up)
        timer.start()
        line = b""
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps({"kind": kind, "size": len(data)}).encode() + b"\n")
                process.stdin.write(data)
                process.stdin.flush()
                line = process.stdout.readline()
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            found: dict[str, Any] = json.loads(line)
            return found
        code = process.wait()
        self.close()
        why = f"its parser exited with code {code}"
        if is_late.is_set():
            why = f"parsing took longer than {self._timeout:g} s"
        return {"reason": "unparsable", "error": why}

    def _start(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self.close()
            command = [sys.executable, "-c", _START, json.dumps(sys.path), str(self._max_memory)]
            # Parser warnings about a document may contain anything and are not logged.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._process
