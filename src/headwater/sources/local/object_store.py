"""Files of a folder as objects: the bucket is the folder's path, the key is relative to it.

A file has no versions; its etag consists of modification time (ns) and size. A file that changes during a
read counts as superseded. Two contents can have the same time and size, so the etag of a content ends in its
digest, as in the watcher's events. Events of older releases have etags without it, which match any content
of that time and size.
"""

import errno
import io
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import (
    HeadwaterError,
    ObjectForbiddenError,
    ObjectMissingError,
    ObjectSupersededError,
    ObjectTooLargeError,
    ObjectUnavailableError,
    SourceUnavailableError,
)
from headwater.sources.local.lister import (
    build_file_etag,
    build_listed_file,
    compute_digest,
    name_content,
    read_digest,
    read_modified,
)
from headwater.sources.object_event import is_same_etag
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState

if TYPE_CHECKING:
    from headwater.sources.object_store import ObjectStoreConfig

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ENXIO})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.ELOOP})
_TRIES_WHILE_CHANGING = 3


def resolve_key(ref: ObjectRef) -> Path:
    """Return the path of `ref` with symbolic links resolved, which must be inside the bucket's folder.

    Raises ObjectForbiddenError if it is not. Raises ObjectMissingError for keys that no listed file can have:
    empty, or with `.` or empty parts, which would name another key's file.
    """
    parts = ref.key.split("/")
    if ".." in parts or ref.key.startswith("/") or "\0" in ref.key:
        raise _escapes(ref)
    if not all(parts) or "." in parts:
        raise ObjectMissingError(f"{ref.key!r} in {ref.bucket} does not exist: not a valid file key")
    root = Path(ref.bucket)
    try:
        folder, path = root.resolve(), root.joinpath(*parts).resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        raise ObjectForbiddenError(f"{ref.key!r} in {ref.bucket} cannot be resolved: {error}") from error
    if not path.is_relative_to(folder):
        raise _escapes(ref)
    return path


def _escapes(ref: ObjectRef) -> ObjectForbiddenError:
    return ObjectForbiddenError(
        f"key {ref.key!r} leads outside the folder {ref.bucket}",
        hint="only files inside the source folder are read; put the file itself there, not a link",
    )


class LocalObjectStore:
    """Reads files. Opens only regular files inside the folder."""

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """See `ObjectStore.read`; `version_id` is ignored, since files have no versions."""
        path = resolve_key(ref)
        for _ in range(_TRIES_WHILE_CHANGING):
            content = _read_once(path, ref, max_bytes)
            if content is not None:
                return content
            if ref.etag is not None:
                raise ObjectSupersededError(f"{path} changed while it was read")
        raise ObjectUnavailableError(f"{path} keeps changing while it is read", hint="it will be retried")

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """See `ObjectStore.state`."""
        try:
            path = resolve_key(ref)
            status = path.stat()
        except ObjectMissingError:
            return None
        except OSError as error:
            translated = _translate(error, ref)
            if isinstance(translated, ObjectMissingError):
                return None
            raise translated from error
        if not stat.S_ISREG(status.st_mode):
            return None
        digest = read_digest(path, build_listed_file(ref.key, status)) if _needs_digest(status, ref) else ""
        return _to_state(status, digest or "")

    def uri(self, ref: ObjectRef) -> str:
        """Return `file:/folder/key`, as Hadoop writes it."""
        return f"file:{Path(ref.bucket).absolute().joinpath(ref.key.lstrip('/'))}"


def _read_once(path: Path, ref: ObjectRef, max_bytes: int | None) -> ObjectContent | None:
    """Return the file's content, or None if it changed during the read."""
    try:
        # O_NONBLOCK: opening a pipe must not wait for its writer. O_NOFOLLOW: the path is resolved, so a link
        # there was created concurrently.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            before = os.fstat(descriptor)
            _check(path, before, ref, max_bytes)
            data = file.read(before.st_size + 1)
            after = os.fstat(descriptor)
    except OSError as error:
        raise _translate(error, ref) from error
    if _identify(before) != _identify(after) or len(data) != after.st_size:
        return None
    digest = compute_digest(io.BytesIO(data), len(data)) if _needs_digest(after, ref) else ""
    state = _to_state(after, digest)
    if ref.etag not in (None, state.etag):
        raise ObjectSupersededError(f"{path} has other content of the same size and modification time")
    return ObjectContent(data, state)


def _identify(status: os.stat_result) -> tuple[str, int]:
    return build_file_etag(status), status.st_ctime_ns


def _needs_digest(status: os.stat_result, ref: ObjectRef) -> bool:
    """False if `ref` names modification time and size only, and the file has both."""
    return ref.etag != build_file_etag(status)


def _check(path: Path, status: os.stat_result, ref: ObjectRef, max_bytes: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ObjectMissingError(f"{path} is not a regular file")
    if ref.etag is not None and not is_same_etag(ref.etag, build_file_etag(status)):
        raise ObjectSupersededError(f"{path} has changed since it was announced")
    if max_bytes is not None and status.st_size > max_bytes:
        raise ObjectTooLargeError(
            f"{path} has {status.st_size} bytes; the limit for one object is {max_bytes}"
        )


def _to_state(status: os.stat_result, digest: str) -> ObjectState:
    etag = name_content(build_file_etag(status), digest)
    return ObjectState(etag, None, status.st_size, read_modified(status))


def _translate(error: OSError, ref: ObjectRef) -> HeadwaterError:
    where = f"{ref.key!r} in {ref.bucket}"
    if error.errno in _ABSENT:
        _ensure_folder(ref)
        return ObjectMissingError(f"{where} does not exist")
    if error.errno in _DENIED:
        return ObjectForbiddenError(
            f"{where} cannot be read: {error.strerror}",
            hint="grant read access to the user that runs headwater",
        )
    return ObjectUnavailableError(f"{where} cannot be read now: {error}", hint="it will be retried")


def _ensure_folder(ref: ObjectRef) -> None:
    # Without this check, an unmounted source folder would look like the removal of every object.
    if not Path(ref.bucket).is_dir():
        raise SourceUnavailableError(
            f"the source folder {ref.bucket} does not exist", hint="mount or create it; no data was lost"
        )


def build_local_store(_config: "ObjectStoreConfig") -> LocalObjectStore:
    """Build a store for any folder; the configuration has no settings for files."""
    return LocalObjectStore()
