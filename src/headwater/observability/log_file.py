"""`LogFile`: a log file that is rotated by size, for one process."""

import fcntl
import logging
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

import structlog

from headwater.observability.logging import build_formatter

log = structlog.stdlib.get_logger(__name__)


class LogFile(RotatingFileHandler):
    """Appends one JSON document per line. Renames the file to `.1`, `.2` and so on when it is full.

    Raises `BlockingIOError` if another process has the file open: both would rename it while the other
    writes. Raises another `OSError` if the file cannot be opened.
    """

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        self._is_failing = self._has_failed = False
        path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(path, maxBytes=max_bytes, backupCount=backups, encoding="utf-8")
        self.setFormatter(build_formatter(as_json=True))

    def _open(self) -> TextIOWrapper:
        stream = super()._open()
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
            raise
        return stream

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record. The first failure after a success is logged to the other handlers."""
        self._has_failed = False
        super().emit(record)
        self._is_failing = self._has_failed

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name in the base class
        """Note that a record was not written; the run continues. The base class prints a traceback."""
        del record
        was_failing, self._is_failing, self._has_failed = self._is_failing, True, True
        if not was_failing:
            error = str(sys.exc_info()[1])
            log.warning("log file not writable; logging to stderr only", file=self.baseFilename, error=error)
