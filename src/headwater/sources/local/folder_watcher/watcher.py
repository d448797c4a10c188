"""`FolderWatcher`: announces the files of a folder to a queue, at the start and when they change."""

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from headwater.errors import SourceError, SourceUnavailableError
from headwater.observability.clock import Clock, SystemClock
from headwater.sources.lister import UnusablePath
from headwater.sources.local.folder_watcher.change_feed import FolderChangeFeed, find_identity
from headwater.sources.local.folder_watcher.file_messages import (
    build_created_message,
    build_removed_message,
    read_file_clock,
)
from headwater.sources.local.folder_watcher.known_files import (
    KnownFile,
    KnownFiles,
    choose_order,
    judge_file,
    may_differ,
)
from headwater.sources.local.folder_watcher.settling import Settling
from headwater.sources.local.lister import (
    ListedFile,
    LocalLister,
    build_listed_file,
    is_transient,
    read_digest,
)
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.queue import SOURCE_ATTRIBUTE

if TYPE_CHECKING:
    from headwater.config.source import LocalSourceConfig

log = structlog.stdlib.get_logger(__name__)

# Changes can be lost: the kernel's queue overflows, and network mounts report none.
RESCAN_SECONDS = 60.0
# Limits listings to a fiftieth of the time.
_RESCAN_FACTOR = 50
# Limits how long the start waits for files that are still being written.
_SETTLE_ROUNDS = 10
_SEND_SECONDS = 0.25
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class FolderWatcher:
    """Sends a message for each file that is not `known`, has changed, or was deleted.

    `incomplete` is always None: what cannot be read is logged and listed again.

    A file is announced when it has not changed for `settle_seconds`. `bucket` is the name of the folder in
    events, its path by default. One thread at a time; call `announce_existing` before `run`.
    """

    def __init__(
        self,
        config: "LocalSourceConfig",
        known: Mapping[str, KnownFile],
        queue: MemoryQueue,
        clock: Clock | None = None,
        *,
        bucket: str = "",
    ) -> None:
        self.incomplete: SourceError | None = None
        self._root = Path(config.path).absolute()
        self._bucket = bucket or str(self._root)
        self._settle_seconds = config.settle_seconds
        self._known = KnownFiles(known)
        self._queue = queue
        self._clock = clock or SystemClock()
        self._settling = Settling(config.settle_seconds)
        self._lister = LocalLister(self._root, self._note_unusable)
        self._reported: set[str] = set()
        self._unreadable: list[str] = []
        self._next_rescan = 0.0
        self._soonest_rescan = 0.0
        self._device: int | None = None
        self._stop = threading.Event()

    def announce_existing(self, stop: threading.Event | None = None) -> int:
        """Announce the differences between the folder and the known files; return the number of messages.

        Waits for files that are still being written, at most ten times `settle_seconds`.
        Raises `SourceUnavailableError` if the folder does not exist.
        """
        self._stop = stop or self._stop
        sent = self._rescan()
        deadline = self._clock.monotonic() + _SETTLE_ROUNDS * self._settle_seconds
        pause = threading.Condition()
        while len(self._settling) and not self._stop.is_set():
            sent += self._announce_settled()
            if self._clock.monotonic() > deadline:
                log.warning("files are still being written; not announced yet", files=len(self._settling))
                break
            with pause:
                self._clock.wait(pause, self._seconds_until_next())
        return sent

    def run(self, stop: threading.Event) -> None:
        """Announce changes until `stop` is set. If the folder disappears, waits until it returns."""
        self._stop = stop
        while not stop.is_set():
            try:
                with FolderChangeFeed(self._root) as feed:
                    self._follow(feed)
            except SourceUnavailableError as error:
                log.warning(error.message, hint=error.hint)
                stop.wait(min(RESCAN_SECONDS, 1.0))

    def _follow(self, feed: FolderChangeFeed) -> None:
        # The feed runs already, so no change between the listing and the first wait is lost.
        self._rescan()
        while not self._stop.is_set() and feed.is_attached():
            paths = feed.wait(self._seconds_until_next(), self._stop)
            for path in paths:
                self._touch(path)
            if paths and self._lister.has_aliases:
                # The system reports one path of a file; another link to it may also be a key.
                self._rescan_soon()
            self._announce_settled()
            if self._clock.monotonic() >= self._next_rescan:
                self._rescan()

    def _seconds_until_next(self) -> float:
        due = self._settling.next_due_at()
        until = self._next_rescan if due is None else min(due, self._next_rescan)
        return max(0.0, min(until - self._clock.monotonic(), 1.0))

    def _touch(self, path: str) -> None:
        key = os.path.relpath(path, self._root)
        if key == ".":
            self._rescan_soon()
        elif not key.startswith("../") and not is_transient(key):
            self._settling.touch(key, self._clock.monotonic())

    def _rescan_soon(self) -> None:
        soon = max(self._soonest_rescan, self._clock.monotonic() + self._settle_seconds)
        self._next_rescan = min(self._next_rescan, soon)

    def _rescan(self) -> int:
        """List the folder and announce or watch differences; return the number of messages."""
        started = self._clock.monotonic()
        identity = find_identity(self._root)
        if self._device is None and identity:
            self._device = identity[0]
        self._unreadable = []
        sent = self._compare("", from_listing=True)
        ended = self._clock.monotonic()
        self._soonest_rescan = ended + _RESCAN_FACTOR * (ended - started)
        self._next_rescan = max(ended + RESCAN_SECONDS, self._soonest_rescan)
        return sent

    def _compare(self, prefix: str, *, from_listing: bool) -> int:
        """Announce or watch differences from the known files; the listing is authoritative."""
        changes = self._known.compare(self._lister.iter_objects(prefix), prefix)
        # Removals first: a file and a folder may have exchanged paths.
        sent = sum(self._announce_if_removed(key, from_listing=from_listing) for key in changes.removed)
        return sent + sum(self._take_listed(found) for found in changes.changed)

    def _take_listed(self, found: ListedFile) -> int:
        age = (self._clock.now() - found.last_modified).total_seconds()
        if age < self._settle_seconds:
            self._settling.add_listed(found.key, self._clock.monotonic(), found.etag)
            return 0
        return self._inspect(found.key, found.etag, from_listing=True)

    def _announce_settled(self) -> int:
        due = self._settling.take_due(self._clock.monotonic())
        return sum(self._inspect(key, etag, from_listing=False) for key, etag in due)

    def _inspect(self, key: str, seen_etag: str | None, *, from_listing: bool) -> int:
        """Announce the file under `key` if it is new, or later if it changed since it was listed."""
        try:
            status = (self._root / key).stat()
        except OSError as error:
            if error.errno in _ABSENT:
                return self._announce_removed(key, from_listing=from_listing)
            log.warning("cannot read file status", key=key, error=str(error))
            return 0
        if stat.S_ISDIR(status.st_mode):
            # A folder may have replaced the file.
            sent = self._announce_if_removed(key, from_listing=from_listing)
            return sent + self._compare(key + "/", from_listing=from_listing)
        sent = self._announce_removed_below(key, from_listing=from_listing)
        if not stat.S_ISREG(status.st_mode):
            return sent + self._announce_if_removed(key, from_listing=from_listing)
        return sent + self._inspect_file(build_listed_file(key, status), seen_etag, from_listing=from_listing)

    def _inspect_file(self, found: ListedFile, seen_etag: str | None, *, from_listing: bool) -> int:
        key = found.key
        if seen_etag is not None and seen_etag != found.etag:
            self._settling.touch(key, self._clock.monotonic(), found.etag)
            return 0
        known = self._known.get(key)
        if not may_differ(known, found):
            return 0
        if not self._is_listed(key):
            return self._announce_if_removed(key, from_listing=from_listing)
        digest = read_digest(self._root / key, found)
        if digest is None:
            self._settling.touch(key, self._clock.monotonic())
            return 0
        file = judge_file(known, found, digest)
        is_news = known is None or file.order != known.order
        if is_news:
            body = build_created_message(self._bucket, key, found.size, file, from_listing=from_listing)
            if not self._send(body, from_listing=from_listing):
                return 0
        self._known.put(key, file)
        return int(is_news)

    def _is_listed(self, key: str) -> bool:
        """True if a listing would include the file: the lister has rules for links."""
        is_plain = os.path.realpath(self._root / key) == f"{os.path.realpath(self._root)}/{key}"
        return is_plain or self._appears_in_listing(key)

    def _appears_in_listing(self, key: str) -> bool:
        return any(found.key == key for found in self._lister.iter_objects(key))

    def _announce_removed(self, key: str, *, from_listing: bool) -> int:
        sent = self._announce_if_removed(key, from_listing=from_listing)
        return sent + self._announce_removed_below(key, from_listing=from_listing)

    def _announce_removed_below(self, key: str, *, from_listing: bool) -> int:
        keys = self._known.list_below(key + "/")
        return sum(self._announce_if_removed(known, from_listing=from_listing) for known in keys)

    def _announce_if_removed(self, key: str, *, from_listing: bool) -> int:
        if not self._known.is_present(key):
            return 0
        # Read before the file check: a file put back right after it must be newer than its removal.
        now_ns = read_file_clock()
        if not self._is_deleted(key):
            return 0
        order = choose_order(self._known.get(key), now_ns)
        body = build_removed_message(self._bucket, key, order, from_listing=from_listing)
        if not self._send(body, from_listing=from_listing):
            return 0
        self._known.remove(key, order)
        return 1

    def _is_deleted(self, key: str) -> bool:
        """Whether the file is known to be deleted; False while its folder is unreadable or unmounted.

        Anything absent from listings counts as deleted: a folder or pipe of that name, or a link that leads
        out. On case-insensitive file systems, so does a file whose name changed its case.
        """
        if any(key.startswith(folder) for folder in self._unreadable):
            return False
        path = self._root / key
        if _is_absent(path):
            identity = find_identity(self._root)
            is_mounted = identity is not None and identity[0] == self._device
            # The root may have been unavailable only during the file check.
            return is_mounted and _is_absent(path)
        try:
            status = path.stat()
        except OSError:
            return False
        return not (stat.S_ISREG(status.st_mode) and self._appears_in_listing(key))

    def _note_unusable(self, path: UnusablePath) -> None:
        if path.reason == "unreadable_folder":
            self._unreadable.append(path.key)
        if path.key in self._reported:
            return
        self._reported.add(path.key)
        log.warning("unusable path", key=ascii(path.key), reason=path.reason, detail=path.detail)
        if path.reason == "bad_name":
            self._send_bad_name(path.key)

    def _send_bad_name(self, key: str) -> None:
        """Announce the file although the parser rejects its key, so that it appears in quarantine."""
        try:
            status = (self._root / key).lstat()
        except OSError:
            return
        found = build_listed_file(key, status)
        file = judge_file(None, found, "")
        body = build_created_message(self._bucket, key, found.size, file, from_listing=True)
        # The same id at each start, so that it is in quarantine once.
        digest = hashlib.sha256(os.fsencode(self._root / key)).hexdigest()[:32]
        self._send(body, from_listing=True, message_id=f"name-{digest}")

    def _send(self, body: str, *, from_listing: bool, message_id: str | None = None) -> bool:
        """Send a message, waiting while the queue is full; return False if the watcher was stopped."""
        attributes = {SOURCE_ATTRIBUTE: "listing"} if from_listing else {}
        while not self._stop.is_set():
            try:
                self._queue.send(body, attributes, message_id=message_id, timeout=_SEND_SECONDS)
            except SourceUnavailableError:  # full
                continue
            return True
        return False


def _is_absent(path: Path) -> bool:
    """True if no file exists under the path; False if the system cannot determine it."""
    try:
        path.stat()
    except OSError as error:
        return error.errno in _ABSENT
    return False
