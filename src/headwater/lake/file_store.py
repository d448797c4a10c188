"""`FileStore`: reads, writes and copies files below a folder or URL, in constant memory."""

import errno
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from headwater.config.azure_account import AZURE_SCHEMES
from headwater.errors import LakeError, LakeNotWritableError, UsageError
from headwater.lake.snapshot_reader import REFUSED, UNREACHABLE, name_credentials, to_uri
from headwater.lake.table_files import StoredFile, open_file_system, replace_file

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileInfo, FileSystem

_CHUNK_BYTES = 4 << 20
# Credentials of a role expire, and those that were passed to a file system are never renewed.
_REOPEN_SECONDS = 600.0
_DENIED = re.compile(r"(?i)permission denied|read-only file system")
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|FilesystemNotFound")


class FileStore:
    """Files by paths relative to a folder or URL; usable from any thread.

    All methods raise `LakeError` with a hint, and `FileNotFoundError` for a file that does not exist.
    """

    def __init__(self, url: str, build_options: Callable[[], Mapping[str, str]]) -> None:
        self.url = to_uri(url).rstrip("/")
        self.build_options = build_options
        self._lock = threading.Lock()
        self._opened: tuple[FileSystem, str, float] | None = None
        self._folders: set[str] = set()

    def list_files(self, folder: str = "") -> list[StoredFile]:
        """List all files below a folder; empty for an absent folder."""
        start, found = self._list(folder)
        return [StoredFile(file.path[start:], file.size) for file in found]

    def list_modified(self, folder: str) -> dict[str, datetime]:
        """Return when the files below a folder were written, by path; empty for an absent folder."""
        start, found = self._list(folder)
        return {file.path[start:]: file.mtime for file in found}

    def _list(self, folder: str) -> "tuple[int, list[FileInfo]]":
        """Return where paths begin, and the files below a folder."""
        from pyarrow.fs import FileSelector, FileType

        system, root = self._open()
        selector = FileSelector(self._join(root, folder), allow_not_found=True, recursive=True)
        with self.explained():
            found = system.get_file_info(selector)
        return len(root) + 1, [file for file in found if file.type == FileType.File]

    def list_folders(self) -> list[str]:
        """List the names of the folders directly below."""
        from pyarrow.fs import FileSelector, FileType

        system, root = self._open()
        with self.explained():
            found = system.get_file_info(FileSelector(root, allow_not_found=True))
        return [entry.base_name for entry in found if entry.type == FileType.Directory]

    def read(self, path: str) -> bytes:
        """Read a small file completely."""
        system, root = self._open()
        with self.explained(), system.open_input_stream(self._join(root, path)) as file:
            content: bytes = file.read()
            return content

    def open_input(self, path: str) -> "NativeFile":
        """Open a file for reads at any offset; the caller closes it."""
        system, root = self._open()
        with self.explained():
            return system.open_input_file(self._join(root, path))

    def read_if_there(self, path: str) -> bytes | None:
        """Read a small file completely; None if it does not exist."""
        try:
            return self.read(path)
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes) -> None:
        """Write or replace a small file; readers see the previous content or the new one."""
        system, root = self._open()
        target = self._join(root, path)
        with self.explained(writes=True):
            self._create_parent(system, target)
            replace_file(system, target, content)

    def copy(self, path: str, origin: "FileStore", original: str) -> tuple[int, str]:
        """Copy a file of `origin` to `path`; return its size in bytes and its checksum (CRC-32)."""
        source, source_root = origin._open()
        system, root = self._open()
        target, size, checksum = self._join(root, path), 0, 0
        with origin.explained():
            reader = source.open_input_stream(origin._join(source_root, original))
        with reader:
            with self.explained(writes=True):
                self._create_parent(system, target)
                writer = system.open_output_stream(target)
            with self.explained(writes=True), writer:
                while True:
                    with origin.explained():
                        chunk = reader.read(_CHUNK_BYTES)
                    if not chunk:
                        break
                    writer.write(chunk)
                    size, checksum = size + len(chunk), zlib.crc32(chunk, checksum)
        return size, _format_checksum(checksum)

    def delete(self, path: str) -> None:
        """Delete a file. Idempotent."""
        system, root = self._open()
        try:
            with self.explained():
                system.delete_file(self._join(root, path))
        except FileNotFoundError:
            pass

    def _open(self) -> "tuple[FileSystem, str]":
        with self._lock:
            now = time.monotonic()
            if self._opened is None or now - self._opened[2] >= _REOPEN_SECONDS:
                with self.explained():
                    system, root = open_file_system(self.url, self.build_options(), copies=True)
                self._opened = system, root.rstrip("/"), now
            return self._opened[:2]

    def _create_parent(self, system: "FileSystem", path: str) -> None:
        folder = path.rpartition("/")[0]
        # Object stores have no folders: creating one would write an empty object.
        if self._is_local(system) and folder not in self._folders:
            system.create_dir(folder, recursive=True)
            self._folders.add(folder)

    @staticmethod
    def _is_local(system: "FileSystem") -> bool:
        return bool(system.type_name == "local")

    @staticmethod
    def _join(root: str, path: str) -> str:
        return f"{root}/{path}".rstrip("/")

    @contextmanager
    def explained(self, *, writes: bool = False) -> Iterator[None]:
        """Convert exceptions of the file system in this context to `LakeError`.

        `FileNotFoundError` passes unless the context `writes`: a file to write is absent only if its folder
        or bucket is.
        """
        try:
            yield
        except FileNotFoundError as error:
            if writes or _NO_BUCKET.search(str(error)):
                raise explain_store_failure(self.url, error) from error
            raise
        except (OSError, ValueError, ImportError, NotImplementedError) as error:
            raise explain_store_failure(self.url, error) from error


def compute_checksum(content: bytes) -> str:
    """Return the CRC-32 of a content, as `FileStore.copy` does."""
    return _format_checksum(zlib.crc32(content))


def _format_checksum(checksum: int) -> str:
    return f"{checksum:08x}"


def explain_store_failure(url: str, error: Exception) -> LakeError | UsageError:
    """Build the error for an exception of a file system below `url`."""
    line = str(error).partition("\n")[0]
    text = line[:300]
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT) or "No space left" in text:
        return LakeNotWritableError(
            f"{url}: no space left on the device",
            hint="free space there, or choose another location; then repeat the command: it resumes",
        )
    # Google names the bucket only by the status. Of a file that is read, the caller handles the absence.
    if _NO_BUCKET.search(line) or "(NOT_FOUND" in line:
        what = "container" if url.startswith(AZURE_SCHEMES) else "bucket"
        return LakeError(f"{url}: the {what} does not exist", hint=f"check the address, or create the {what}")
    if number in (errno.EACCES, errno.EPERM, errno.EROFS) or REFUSED.search(line) or _DENIED.search(line):
        return LakeError(
            f"{url}: access denied: {text}",
            hint=f"check {name_credentials(url)}, the clock, and the permissions to list, read and write "
            "there",
        )
    if UNREACHABLE.search(line):
        return LakeError(
            f"{url}: the store does not answer: {text}",
            hint="check the network, the endpoint and the region; then repeat the command: it resumes",
        )
    # pyarrow raises it for what only a hierarchical namespace has.
    if isinstance(error, NotImplementedError) and url.startswith(AZURE_SCHEMES):
        return LakeError(
            f"{url}: the storage account has no hierarchical namespace",
            hint="use an account of Data Lake Storage: a lake needs its atomic renames",
        )
    if isinstance(error, OSError):
        return LakeError(f"{url}: {text}", hint="repeat the command: it resumes")
    return UsageError(
        f"{url}: no such file system is supported: {text}",
        hint="use a folder, or a URL that starts with s3://, gs:// or abfss://",
    )
