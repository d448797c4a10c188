"""`FolderChangeFeed`: changed paths below a folder, reported by the operating system."""

import threading
from pathlib import Path

import structlog

# The documented low-level interface: unlike `watchfiles.watch` it reports when watching has begun, and each
# wait has its own timeout. https://watchfiles.helpmanual.io/api/rust_backend/
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from headwater.errors import SourceUnavailableError

log = structlog.stdlib.get_logger(__name__)

_STEP_MS = 50
_DEBOUNCE_MS = 400
_POLL_MS = 2000
_RESTART_PAUSE_SECONDS = 1.0


class FolderChangeFeed:
    """Watches from its construction on; a context manager.

    Raises `SourceUnavailableError` if the folder does not exist. Where the system cannot watch so many
    folders, the library polls all files every two seconds instead.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._identity = find_identity(root)
        if self._identity is None:
            raise SourceUnavailableError(
                f"the source folder {root} does not exist", hint="watching resumes when it is back"
            )
        self._notify = _watch(root)

    def __enter__(self) -> "FolderChangeFeed":
        return self

    def __exit__(self, *_: object) -> None:
        self._notify.close()

    def wait(self, seconds: float, stop: threading.Event) -> list[str]:
        """Wait at most `seconds` or until `stop` is set; return changed paths, parents before children.

        The folder's own path means that changes may have been missed anywhere in it.
        """
        timeout_ms = max(1, int(seconds * 1000))
        try:
            changes = self._notify.watch(_DEBOUNCE_MS, _STEP_MS, timeout_ms, stop)
        except WatchfilesRustInternalError as error:
            # The path is not UTF-8. The library raises the error again at every later call, so the watch
            # restarts.
            log.debug("watch restarted", error=str(error))
            self._restart()
            stop.wait(_RESTART_PAUSE_SECONDS)
            return [str(self._root)]
        return [] if isinstance(changes, str) else sorted(path for _, path in changes)

    def _restart(self) -> None:
        # The new watch begins before the old one ends: no change falls between them.
        failed, self._notify = self._notify, _watch(self._root)
        failed.close()

    def is_attached(self) -> bool:
        """False if the folder was removed or replaced: its successor needs a new feed."""
        return find_identity(self._root) == self._identity


def find_identity(folder: Path) -> tuple[int, int] | None:
    """Return device and inode of a folder; None if it does not exist."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _watch(root: Path) -> RustNotify:
    """Start to watch the folder. Raises `SourceUnavailableError` if it no longer exists."""
    try:
        return _open_watch(root, force_polling=False)
    except OSError as error:
        log.warning(
            "cannot watch for changes; polling all files every two seconds",
            error=str(error),
            hint="raise fs.inotify.max_user_watches (sysctl)",
        )
    try:
        return _open_watch(root, force_polling=True)
    except OSError as error:
        raise SourceUnavailableError(
            f"the source folder {root} cannot be watched: {error}", hint="watching resumes when it is back"
        ) from error


def _open_watch(root: Path, *, force_polling: bool) -> RustNotify:
    return RustNotify([str(root)], False, force_polling, _POLL_MS, True, True)
