"""Reads the members of archives: zip and tar. Nothing is written to a disk."""

import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO

from wcmatch import glob

from headwater.errors import ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.formats.protocol import ObjectData

MOST_MEMBERS = 10_000
_GLOB_FLAGS = glob.GLOBSTAR | glob.BRACE | glob.FORCEUNIX | glob.CASE
_BLOCK_BYTES = 512
_OUTSIDE = re.compile(r"/|[A-Za-z]:|(?:.*/)?\.\.(?:/|\Z)", re.DOTALL)
_ENCRYPTED = 0x1
_SHOWN_NAMES = 5


@dataclass(frozen=True, slots=True)
class _Member:
    """A file of an archive. `open` may raise any error of the library that reads the archive."""

    name: str
    open: Callable[[], IO[bytes] | None]
    is_encrypted: bool = False


def iter_members(source: ObjectData, pattern: str, max_bytes: int) -> Iterator[ObjectData]:
    """Yield the files of an archive in its order, with addresses such as `s3://b/a.zip!/orders/1.csv`.

    `pattern` is a glob for their names; without one, files with names that begin with a dot, and the
    `__MACOSX` folder, are left out. Of files with equal names the last one counts, and empty ones are left
    out. An archive in an archive is a plain file.

    Raises ObjectUnreadableError for an archive that is corrupt, or has no such file, or one that is encrypted
    or has a name outside the archive; ObjectTooLargeError as soon as the files have more than `max_bytes`.
    """
    is_zip = source.data.startswith((b"PK\x03\x04", b"PK\x05\x06"))
    members = _read_members(source, _list_zip if is_zip else _list_tar)
    left = max_bytes
    for member in _select(source.uri, members, pattern):
        data = _read(source.uri, member, left)
        left -= len(data)
        if data:
            yield ObjectData(f"{source.uri}!/{member.name}", data, source.last_modified)


def _read_members(source: ObjectData, list_members: Callable[[bytes], Iterable[_Member]]) -> list[_Member]:
    try:
        found: dict[str, _Member] = {}
        for member in list_members(source.data):
            found.pop(member.name, None)
            found[member.name] = member
            if len(found) > MOST_MEMBERS:
                raise ObjectTooLargeError(
                    f"{source.uri} has more than {MOST_MEMBERS:,} files", hint="split the archive"
                )
    except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError, ValueError, EOFError) as error:
        raise ObjectUnreadableError(
            f"{source.uri} is no complete archive: {error}",
            hint="zip and tar are supported, also compressed with gzip, bzip2 or zstd",
        ) from error
    return list(found.values())


def _list_zip(data: bytes) -> Iterator[_Member]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    for info in archive.infolist():
        if not info.is_dir():
            yield _Member(info.filename, partial(archive.open, info), bool(info.flag_bits & _ENCRYPTED))


def _list_tar(data: bytes) -> Iterator[_Member]:
    archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:")  # noqa: SIM115 - in memory
    for info in archive:
        # Links have no content of their own.
        if info.isreg():
            yield _Member(info.name, partial(archive.extractfile, info))
    # The library takes a corrupt header for the end.
    end = data[archive.offset : archive.offset + _BLOCK_BYTES]
    if end != bytes(_BLOCK_BYTES):
        raise tarfile.ReadError(f"corrupt or truncated at byte {archive.offset}")


def _select(uri: str, members: list[_Member], pattern: str) -> list[_Member]:
    found = [member for member in members if _is_wanted(member.name, pattern)]
    if not found:
        names = ", ".join(repr(member.name) for member in members[:_SHOWN_NAMES])
        what = f"no file that matches {pattern!r}" if pattern else "no file to read"
        raise ObjectUnreadableError(
            f"{uri} has {what}; its files: {names or 'none'}",
            hint="set the reader option `members` to a glob for their names, such as '**/*.csv'",
        )
    for member in found:
        if _is_outside(member.name):
            raise ObjectUnreadableError(
                f"{uri} has a file outside the archive: {member.name!r}",
                hint="exclude it with the reader option `members`",
            )
        if member.is_encrypted:
            raise ObjectUnreadableError(
                f"{uri} is encrypted: {member.name!r} requires a password",
                hint="store the archive without a password",
            )
    return found


def _is_wanted(name: str, pattern: str) -> bool:
    if pattern:
        return glob.globmatch(name, pattern, flags=_GLOB_FLAGS)
    parts = name.split("/")
    is_hidden = parts[-1].startswith(".") or "__MACOSX" in parts
    return not is_hidden or _is_outside(name)


def _is_outside(name: str) -> bool:
    return _OUTSIDE.match(name.replace("\\", "/")) is not None


def _read(uri: str, member: _Member, limit: int) -> bytes:
    try:
        with member.open() or io.BytesIO() as file:
            # The size that an archive states may be wrong.
            data = file.read(limit + 1)
    except Exception as error:
        # The decompressors of zip raise errors of their own.
        raise ObjectUnreadableError(
            f"{uri} is corrupt, or compressed by a method that is not supported: {member.name!r}: {error}",
            hint="in a zip: deflate, bzip2, lzma, or not compressed",
        ) from error
    if len(data) > limit:
        raise ObjectTooLargeError(
            f"{uri} has more than the allowed bytes when unpacked, in {member.name!r}",
            hint="split the archive",
        )
    return data
