"""`FolderWatcher`: announces the files of a folder into a queue, at the start and as they change."""

import hashlib
import os
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from headwater.capture.consumer.reading import SOURCE_ATTRIBUTE
from headwater.capture.folder_watcher.change_feed import ChangeFeed, find_identity
from headwater.capture.folder_watcher.file_messages import (
    build_created_message,
    build_removed_message,
    read_file_clock,
)
from headwater.capture.folder_watcher.settling import Settling
from headwater.capture.listers.listing_diff import diff_listing
from headwater.capture.listers.local import (
    LocalLister,
    UnusablePath,
    build_file_etag,
    is_transient,
    is_utf8,
)
from headwater.capture.listers.protocol import ListedObject
from headwater.capture.queues.memory import MemoryQueue
from headwater.errors import SourceUnavailableError
from headwater.observability.clock import Clock, SystemClock

if TYPE_CHECKING:
    from headwater.config.source import LocalSourceConfig

log = structlog.stdlib.get_logger(__name__)

# Changes can be lost: the kernel's queue overflows, a network mount tells nothing.
RESCAN_SECONDS = 60.0
# A listing takes a fiftieth of the time at most.
_RESCAN_FACTOR = 50
# How long the start waits for files that are still being written.
_SETTLE_ROUNDS = 10
_NOTICE_SECONDS = 0.25


class FolderWatcher:
    """Sends a message for each file that is not `known` (etag by key), has changed, or has gone.

    A file is announced when it has not changed for `settle_seconds`. The bucket is the folder's path.
    One thread at a time; `announce_existing` before `run`.
    """

    def __init__(
        self,
        config: "LocalSourceConfig",
        known: Mapping[str, str],
        queue: MemoryQueue,
        clock: Clock | None = None,
    ) -> None:
        self._root = Path(config.path).absolute()
        self._bucket = str(self._root)
        self._settle_seconds = config.settle_seconds
        self._announced = dict(known)
        self._queue = queue
        self._clock = clock or SystemClock()
        self._settling = Settling(config.settle_seconds)
        self._lister = LocalLister(self._root, self._note_unusable)
        self._reported: set[str] = set()
        self._unreadable: list[str] = []
        self._next_rescan = 0.0
        self._device: int | None = None
        self._stop = threading.Event()

    def announce_existing(self, stop: threading.Event | None = None) -> int:
        """Announce how the folder differs from what is known; returns the number of messages.

        Files that are still being written are waited for, for ten times `settle_seconds` at most.
        Raises `SourceUnavailableError` when the folder is not there.
        """
        self._stop = stop or self._stop
        sent = self._rescan()
        deadline = self._clock.monotonic() + _SETTLE_ROUNDS * self._settle_seconds
        pause = threading.Condition()
        while len(self._settling) and not self._stop.is_set():
            sent += self._announce_settled()
            if self._clock.monotonic() > deadline:
                log.warning("files are still being written; not announced", files=len(self._settling))
                break
            with pause:
                self._clock.wait(pause, self._seconds_until_next())
        return sent

    def run(self, stop: threading.Event) -> None:
        """Announce what changes until `stop` is set. A folder that goes away is waited for."""
        self._stop = stop
        while not stop.is_set():
            try:
                with ChangeFeed(self._root) as feed:
                    self._follow(feed)
            except SourceUnavailableError as error:
                log.warning(error.message, hint=error.hint)
                stop.wait(min(RESCAN_SECONDS, 1.0))

    def _follow(self, feed: ChangeFeed) -> None:
        # The feed has begun, so that nothing is lost between the listing and the first change.
        self._rescan()
        while not self._stop.is_set() and feed.is_attached():
            for path in feed.wait(self._seconds_until_next(), self._stop):
                self._touch(path)
            self._announce_settled()
            if self._clock.monotonic() >= self._next_rescan:
                self._rescan()

    def _seconds_until_next(self) -> float:
        due = self._settling.next_due_at()
        until = self._next_rescan if due is None else min(due, self._next_rescan)
        return max(0.0, min(until - self._clock.monotonic(), 1.0))

    def _touch(self, path: str) -> None:
        key = os.path.relpath(path, self._root)
        if key != "." and not key.startswith("../") and not is_transient(key):
            self._settling.touch(key, self._clock.monotonic())

    def _rescan(self) -> int:
        """List the folder and announce or watch what differs; returns the number of messages."""
        started = self._clock.monotonic()
        identity = find_identity(self._root)
        if self._device is None and identity:
            self._device = identity[0]
        self._unreadable = []
        changes = diff_listing(self._lister.iter_objects(), self._announced)
        sent = sum(self._take_listed(found) for found in changes.changed)
        sent += sum(self._announce_if_removed(key, from_listing=True) for key in changes.removed)
        ended = self._clock.monotonic()
        self._next_rescan = ended + max(RESCAN_SECONDS, _RESCAN_FACTOR * (ended - started))
        return sent

    def _take_listed(self, found: ListedObject) -> int:
        age = (self._clock.now() - found.last_modified).total_seconds()
        if age < self._settle_seconds:
            self._settling.notice(found.key, self._clock.monotonic(), found.etag)
            return 0
        return self._look(found.key, found.etag, from_listing=True)

    def _announce_settled(self) -> int:
        due = self._settling.take_due(self._clock.monotonic())
        return sum(self._look(key, etag, from_listing=False) for key, etag in due)

    def _look(self, key: str, seen_etag: str | None, *, from_listing: bool) -> int:
        """Announce what lies under `key` now, if that is news; if it changed since it was seen, later."""
        try:
            status = (self._root / key).stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._announce_removed_below(key, from_listing=from_listing)
        except OSError as error:
            log.warning("a file cannot be looked at", key=key, error=str(error))
            return 0
        if stat.S_ISDIR(status.st_mode):
            listed = self._lister.iter_objects(key + "/")
            return sum(self._take_listed(found) for found in listed if self._is_news(found))
        if not stat.S_ISREG(status.st_mode):
            return 0
        etag = build_file_etag(status)
        if seen_etag is not None and seen_etag != etag:
            self._settling.touch(key, self._clock.monotonic(), etag)
            return 0
        if self._announced.get(key) == etag or not self._is_listed(key):
            return 0
        body = build_created_message(self._bucket, key, status, etag, from_listing=from_listing)
        if not self._send(body, from_listing=from_listing):
            return 0
        self._announced[key] = etag
        return 1

    def _is_news(self, found: ListedObject) -> bool:
        return self._announced.get(found.key) != found.etag

    def _is_listed(self, key: str) -> bool:
        """Whether a listing shows the file: names and links have rules, which the lister knows."""
        if not (self._root / key).is_symlink() and is_utf8(key):
            return True
        return any(found.key == key for found in self._lister.iter_objects(key))

    def _announce_removed_below(self, key: str, *, from_listing: bool) -> int:
        below = key + "/"
        keys = [known for known in self._announced if known == key or known.startswith(below)]
        return sum(self._announce_if_removed(known, from_listing=from_listing) for known in keys)

    def _announce_if_removed(self, key: str, *, from_listing: bool) -> int:
        # Before the look: a file that is put back right after it must be newer than its removal.
        now_ns = read_file_clock()
        if not self._is_gone(key):
            return 0
        body = build_removed_message(self._bucket, key, now_ns, from_listing=from_listing)
        if not self._send(body, from_listing=from_listing):
            return 0
        del self._announced[key]
        return 1

    def _is_gone(self, key: str) -> bool:
        """Whether the file is known to be gone; not so while its folder cannot be read or is unmounted."""
        if any(key.startswith(folder) for folder in self._unreadable):
            return False
        try:
            (self._root / key).lstat()
        except (FileNotFoundError, NotADirectoryError):
            identity = find_identity(self._root)
            return identity is not None and identity[0] == self._device
        except OSError:
            return False
        return False

    def _note_unusable(self, path: UnusablePath) -> None:
        if path.reason == "unreadable_folder":
            self._unreadable.append(path.key)
        if path.key in self._reported:
            return
        self._reported.add(path.key)
        log.warning("not usable", key=ascii(path.key), reason=path.reason, detail=path.detail)
        if path.reason == "bad_name":
            self._send_bad_name(path.key)

    def _send_bad_name(self, key: str) -> None:
        """Announce it all the same: the parser refuses the key, and it is seen in the quarantine."""
        try:
            status = (self._root / key).lstat()
        except OSError:
            return
        body = build_created_message(self._bucket, key, status, build_file_etag(status), from_listing=True)
        # The same id at each start, so that it is in the quarantine once.
        digest = hashlib.sha256(os.fsencode(self._root / key)).hexdigest()[:32]
        self._send(body, from_listing=True, message_id=f"name-{digest}")

    def _send(self, body: str, *, from_listing: bool, message_id: str | None = None) -> bool:
        """Send, and wait while the queue is full; False when the watcher was stopped meanwhile."""
        attributes = {SOURCE_ATTRIBUTE: "listing"} if from_listing else {}
        while not self._stop.is_set():
            try:
                self._queue.send(body, attributes, message_id=message_id, timeout=_NOTICE_SECONDS)
            except SourceUnavailableError:  # full
                continue
            return True
        return False
