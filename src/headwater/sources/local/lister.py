"""Files of a folder as listed objects: keys are paths relative to it, with `/`."""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO

from headwater.errors import SourceUnavailableError
from headwater.sources.lister import ListedObject, UnusablePath, UnusableReason

# Temporary names that programs write before the final file: editors, downloads, rsync, Spark, Hadoop.
_TRANSIENT_NAME = re.compile(
    r"^\.|~$|\.(?:tmp|temp|part|partial|crdownload|filepart|swp|swx|swo)$", re.IGNORECASE
)
_TRANSIENT_FOLDERS = frozenset({"_temporary"})
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LAST_MICROS = 9_214_646_399_999_999  # the end of 2261: what 64 bits of nanoseconds hold
_PART_BYTES = 1 << 20
_MOST_PARTS = 64


@dataclass(frozen=True, slots=True)
class ListedFile(ListedObject):
    """A listed file. `changed_ns` is its change time (ctime). `identity` combines that and the inode. It
    differs for a replaced or rewritten file, and also after a change of permissions or a new hard link.
    """

    changed_ns: int
    identity: str


def build_file_etag(status: os.stat_result) -> str:
    """Return the etag of a file, which changes with the modification time or the size."""
    return f"{status.st_mtime_ns:x}-{status.st_size:x}"


def name_content(etag: str, digest: str) -> str:
    """Return the etag of a content: that of its file, with the digest if known."""
    return f"{etag}-{digest}" if digest else etag


def read_modified(status: os.stat_result) -> datetime:
    """Return the modification time, clamped to 1970 to 2261: programs may set any."""
    return _EPOCH + timedelta(microseconds=min(max(status.st_mtime_ns // 1000, 0), _LAST_MICROS))


def build_listed_file(key: str, status: os.stat_result) -> ListedFile:
    """Return a file as a listing contains it."""
    identity = f"{status.st_ctime_ns:x}-{status.st_ino:x}"
    return ListedFile(
        key,
        status.st_size,
        build_file_etag(status),
        None,
        read_modified(status),
        changed_ns=status.st_ctime_ns,
        identity=identity,
    )


def read_digest(path: str | os.PathLike[str], found: ListedFile) -> str | None:
    """Return a digest of a file's content: empty if unreadable, None if it is no longer `found`.

    Of a large file it covers some parts, spread evenly. It must only distinguish files written at the same
    nanosecond with the same size.
    """
    try:
        # O_NONBLOCK: opening a pipe must not wait for its writer.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            digest = compute_digest(file, found.size)
            now = build_listed_file(found.key, os.fstat(file.fileno()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ""
    return digest if now == found else None


def compute_digest(file: BinaryIO, size: int) -> str:
    """Return the digest that `read_digest` computes, for an open file of `size` bytes."""
    digest = hashlib.blake2b(digest_size=8)
    for start in _choose_parts(size):
        file.seek(start)
        digest.update(file.read(_PART_BYTES))
    return digest.hexdigest()


def _choose_parts(size: int) -> Iterator[int]:
    count = min(-(-size // _PART_BYTES), _MOST_PARTS)
    for at in range(count):
        yield at * (size - _PART_BYTES) // (count - 1) if count == _MOST_PARTS else at * _PART_BYTES


def is_transient(key: str) -> bool:
    """True for hidden and temporary files: they will be renamed or hold no data."""
    parts = key.split("/")
    return any(_TRANSIENT_NAME.search(part) or part in _TRANSIENT_FOLDERS for part in parts)


def is_utf8(name: str) -> bool:
    """False for a name with bytes that are not UTF-8: no table can store it."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def format_name(name: str) -> str:
    """Return a printable name, with bytes that are not UTF-8 as `\\xff`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


class LocalLister:
    """Walks a folder. Never fails for a single entry: unusable entries are reported to `on_unusable`.

    Links are followed only inside the folder, because files outside it are never read. `has_aliases` means
    that a file may have several keys: changes are reported for only one of them.
    """

    def __init__(self, root: Path, on_unusable: Callable[[UnusablePath], None] | None = None) -> None:
        self._root = root
        self._on_unusable = on_unusable
        self.has_aliases = False
        self._unreadable: list[str] = []

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedFile]:
        """See `Lister.iter_objects`. Raises `SourceUnavailableError` if the folder does not exist."""
        self._unreadable = []
        real_root = os.path.realpath(self._root)
        if not Path(real_root).is_dir():
            raise SourceUnavailableError(
                f"the source folder {self._root} does not exist", hint="mount or create it; no data was lost"
            )
        found = self._walk(str(self._root), "", prefix, real_root, (real_root,))
        return (listed for listed in found if listed.key > start_after) if start_after else found

    def hides(self, key: str) -> bool:
        """Whether the key is in a folder that the last listing could not read, so that it may exist."""
        return any(key.startswith(folder) for folder in self._unreadable)

    def _walk(
        self, folder: str, key: str, prefix: str, real_root: str, ancestors: tuple[str, ...]
    ) -> Iterator[ListedFile]:
        for name, entry in self._scan(folder, key):
            child = key + name
            if name.endswith("/"):
                if child.startswith(prefix) or prefix.startswith(child):
                    real = os.path.realpath(entry.path) if entry.is_symlink() else ""
                    if real and not self._may_follow(child, real, real_root, ancestors):
                        continue
                    self.has_aliases = self.has_aliases or bool(real)
                    chain = (*ancestors, real or f"{ancestors[-1]}/{entry.name}")
                    yield from self._walk(entry.path, child, prefix, real_root, chain)
            elif child.startswith(prefix):
                listed = self._list_file(child, entry, real_root)
                if listed:
                    yield listed

    def _scan(self, folder: str, key: str) -> list[tuple[str, "os.DirEntry[str]"]]:
        """Yield entries in the order of their keys: a folder sorts by its name with the slash."""
        found = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if is_transient(entry.name):
                        continue
                    try:
                        name = entry.name + "/" if entry.is_dir() else entry.name
                    except OSError as error:  # a link to itself; the other entries are still listed
                        self._report(key + entry.name, "link_loop", str(error))
                        continue
                    if is_utf8(name):
                        found.append((name, entry))
                    else:
                        self._report(key + name, "bad_name", "the name is not UTF-8")
        except (FileNotFoundError, NotADirectoryError):
            return []  # removed since its parent was listed
        except OSError as error:
            self._report(key, "unreadable_folder", str(error))
        return sorted(found, key=lambda pair: pair[0])

    def _may_follow(self, key: str, real: str, real_root: str, ancestors: tuple[str, ...]) -> bool:
        if not _is_inside(real, real_root):
            self._report(key, "link_leads_out", f"the link leads to {real}")
            return False
        if real in ancestors:
            self._report(key, "link_loop", f"the link leads to {real}, which contains it")
            return False
        return True

    def _list_file(self, key: str, entry: "os.DirEntry[str]", real_root: str) -> ListedFile | None:
        is_link = entry.is_symlink()
        try:
            if is_link:
                real = os.path.realpath(entry.path)
                if not _is_inside(real, real_root):
                    self._report(key, "link_leads_out", f"the link leads to {real}")
                    return None
            status = entry.stat()
        except OSError:
            return None  # removed since it was listed, or a link to nothing
        if not stat.S_ISREG(status.st_mode):
            return None
        self.has_aliases = self.has_aliases or is_link or status.st_nlink > 1
        return build_listed_file(key, status)

    def _report(self, key: str, reason: UnusableReason, detail: str) -> None:
        if reason == "unreadable_folder":
            self._unreadable.append(key)
        if self._on_unusable:
            self._on_unusable(UnusablePath(key, reason, detail))


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
