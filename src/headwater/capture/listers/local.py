"""Files of a folder as listed objects: keys are paths relative to it, with `/`."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from headwater.capture.listers.protocol import ListedObject
from headwater.errors import SourceUnavailableError

UnusableReason = Literal["bad_name", "unreadable_folder", "link_leads_out", "link_loop"]

# What programs write on the way to the file that they mean: editors, downloads, rsync, Spark, Hadoop.
_TRANSIENT_NAME = re.compile(
    r"^\.|~$|\.(?:tmp|temp|part|partial|crdownload|filepart|swp|swx|swo)$", re.IGNORECASE
)
_TRANSIENT_FOLDERS = frozenset({"_temporary"})


@dataclass(frozen=True, slots=True)
class UnusablePath:
    """Something in the folder that is not listed. `key` may hold surrogates for bytes that are no UTF-8."""

    key: str
    reason: UnusableReason
    detail: str


def build_file_etag(status: os.stat_result) -> str:
    """The etag of a file: it changes whenever the modification time or the size does."""
    return f"{status.st_mtime_ns:x}-{status.st_size:x}"


def build_listed_file(key: str, status: os.stat_result) -> ListedObject:
    """A file as a listing shows it."""
    changed_at = datetime.fromtimestamp(status.st_mtime, timezone.utc)
    return ListedObject(key, status.st_size, build_file_etag(status), None, changed_at)


def is_transient(key: str) -> bool:
    """True for hidden and temporary files: they are on the way to another name, or nobody's data."""
    parts = key.split("/")
    return any(_TRANSIENT_NAME.search(part) or part in _TRANSIENT_FOLDERS for part in parts)


def is_utf8(name: str) -> bool:
    """False for a name with bytes that are no UTF-8: no table can hold it."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class LocalLister:
    """Walks a folder. Never fails for a single entry: what cannot be used is told to `on_unusable`.

    Links are followed inside the folder only, since nothing outside it is ever read.
    """

    def __init__(self, root: Path, on_unusable: Callable[[UnusablePath], None] | None = None) -> None:
        self._root = root
        self._on_unusable = on_unusable

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister.iter_objects`. Raises `SourceUnavailableError` when the folder is not there."""
        real_root = os.path.realpath(self._root)
        if not Path(real_root).is_dir():
            raise SourceUnavailableError(
                f"the source folder {self._root} is not there", hint="mount or create it; nothing was lost"
            )
        found = self._walk(str(self._root), "", prefix, real_root, (real_root,))
        return (listed for listed in found if listed.key > start_after) if start_after else found

    def _walk(
        self, folder: str, key: str, prefix: str, real_root: str, ancestors: tuple[str, ...]
    ) -> Iterator[ListedObject]:
        for name, entry in self._scan(folder, key):
            child = key + name
            if name.endswith("/"):
                if child.startswith(prefix) or prefix.startswith(child):
                    real = os.path.realpath(entry.path) if entry.is_symlink() else ""
                    if real and not self._may_follow(child, real, real_root, ancestors):
                        continue
                    chain = (*ancestors, real or f"{ancestors[-1]}/{entry.name}")
                    yield from self._walk(entry.path, child, prefix, real_root, chain)
            elif child.startswith(prefix):
                listed = self._list_file(child, entry, real_root)
                if listed:
                    yield listed

    def _scan(self, folder: str, key: str) -> list[tuple[str, "os.DirEntry[str]"]]:
        """Entries in the order of their keys: a folder sorts as its name with the slash."""
        found = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if is_transient(entry.name):
                        continue
                    if not is_utf8(entry.name):
                        self._report(key + entry.name, "bad_name", "the name is not UTF-8")
                        continue
                    found.append((entry.name + "/" if entry.is_dir() else entry.name, entry))
        except (FileNotFoundError, NotADirectoryError):
            return []  # removed since its parent was listed
        except OSError as error:
            self._report(key, "unreadable_folder", str(error))
        return sorted(found, key=lambda pair: pair[0])

    def _may_follow(self, key: str, real: str, real_root: str, ancestors: tuple[str, ...]) -> bool:
        if not _is_inside(real, real_root):
            self._report(key, "link_leads_out", f"it leads to {real}")
            return False
        if real in ancestors:
            self._report(key, "link_loop", f"it leads to {real}, which holds it")
            return False
        return True

    def _list_file(self, key: str, entry: "os.DirEntry[str]", real_root: str) -> ListedObject | None:
        try:
            if entry.is_symlink():
                real = os.path.realpath(entry.path)
                if not _is_inside(real, real_root):
                    self._report(key, "link_leads_out", f"it leads to {real}")
                    return None
            status = entry.stat()
        except OSError:
            return None  # removed since it was listed, or a link to nothing
        return build_listed_file(key, status) if stat.S_ISREG(status.st_mode) else None

    def _report(self, key: str, reason: UnusableReason, detail: str) -> None:
        if self._on_unusable:
            self._on_unusable(UnusablePath(key, reason, detail))


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
