"""Parses documents in separate processes, bounded in time and memory, that end with their parent."""

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from headwater.config.extras.packages import ensure_extra
from headwater.errors import ObjectError, ObjectTooLargeError, ObjectTooSlowError, ObjectUnreadableError
from headwater.ingest.documents.kind import DocumentKind
from headwater.ingest.documents.parser_process import Answer, ParseRequest, ParserProcess
from headwater.ingest.documents.section import DocumentSection, ParsedDocument
from headwater.ingest.documents.time_budget import TimeBudget

MAX_PROCESSES = 2
"""Maximum number of parser processes of one Spark task; each core has a task of its own."""

# Most documents take a tenth of that: a task has one process until one of them occupies it.
_PATIENCE_SECONDS = 1.0
_ATTEMPTS = 2
_ERRORS: dict[str, tuple[type[ObjectError], str]] = {
    "oversize": (ObjectTooLargeError, "repair the document, or exclude it with `path`"),
    "unparsable": (ObjectUnreadableError, "repair the document, or exclude it with `path`"),
    "slow": (
        ObjectTooSlowError,
        "exclude it with `path`, or raise `timeoutSeconds` in `options` and run: headwater quarantine retry",
    ),
}


@lru_cache(maxsize=4)
def get_sandbox(max_memory_bytes: int) -> "Sandbox":
    """Return the sandbox of this Python process for this bound; processes take longer to start than most
    documents.

    Raises `MissingExtraError` without the extra: missing parser libraries are no error of the document.
    """
    ensure_extra("documents", "`format: document`")
    return Sandbox(max_memory_bytes)


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A document to parse; `uri` is for messages. A member of an archive has its address in `archive`."""

    uri: str
    kind: DocumentKind
    data: bytes
    archive: str = ""


class Sandbox:
    """Up to `most` parser processes. Thread-safe.

    The first is started on first use. Another one is started only when each of the present ones has been busy
    with its document for a second: the documents after a hostile file need not wait for its limit.
    """

    def __init__(
        self, max_memory_bytes: int, most: int = MAX_PROCESSES, patience: float = _PATIENCE_SECONDS
    ) -> None:
        self._max_memory = max_memory_bytes
        self._most = most
        self._patience = patience
        self._changed = threading.Condition()
        self._idle: list[ParserProcess] = []
        self._busy: dict[ParserProcess, float] = {}
        atexit.register(self.close)

    @property
    def pids(self) -> frozenset[int]:
        """Ids of the processes."""
        with self._changed:
            return frozenset(process.pid for process in (*self._idle, *self._busy))

    def parse(self, document: DocumentFile, budget: TimeBudget, max_chars: int) -> ParsedDocument:
        """Parse the document within what the budget allows.

        Raises `ObjectUnreadableError`, `ObjectTooLargeError` and `ObjectTooSlowError`.
        """
        for _ in range(_ATTEMPTS):
            answer = self._ask(document, budget, max_chars)
            if not answer.is_killed:
                break
            # Something else may have ended the process, such as the kernel for want of memory.
        if answer.document is None:
            error, hint = _ERRORS[answer.reason]
            raise error(f"{document.uri} cannot be read as {document.kind}: {answer.error}", hint=hint)
        sections = tuple(DocumentSection(*section) for section in answer.document["sections"])
        return ParsedDocument(answer.document["title"], sections)

    def close(self) -> None:
        """End all processes."""
        with self._changed:
            processes = [*self._idle, *self._busy]
            self._idle.clear()
        for process in processes:
            process.close()

    def _ask(self, document: DocumentFile, budget: TimeBudget, max_chars: int) -> Answer:
        limit = budget.choose_limit(len(document.data), document.archive)
        if not limit:
            return Answer(None, "slow", "the documents of its archive take too long together")
        with self._borrow() as process:
            answer = process.parse(ParseRequest(document.kind, document.data, limit, max_chars))
        budget.note(answer.seconds, document.archive, is_wasted=answer.document is None)
        return answer

    @contextmanager
    def _borrow(self) -> Iterator[ParserProcess]:
        process = self._take()
        try:
            yield process
        finally:
            with self._changed:
                del self._busy[process]
                if process.is_running:
                    self._idle.append(process)
                else:
                    process.close()
                self._changed.notify()

    def _take(self) -> ParserProcess:
        with self._changed:
            while not self._idle:
                pause = self._find_pause()
                if pause is not None and pause <= 0:
                    self._idle.append(ParserProcess(self._max_memory))
                else:
                    self._changed.wait(pause)
            process = self._idle.pop()
            self._busy[process] = time.monotonic()
            return process

    def _find_pause(self) -> float | None:
        """Return when another process may be started, in seconds; None while there are enough."""
        if not self._busy:
            return 0.0
        if len(self._busy) >= self._most:
            return None
        return max(self._busy.values()) + self._patience - time.monotonic()
