"""Reads the members of archives: zip, tar and 7z. Nothing is written to a disk."""

import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from wcmatch import glob

from headwater.config.extras.packages import format_install_command, is_installed
from headwater.errors import ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.formats.archive_member import ArchiveMember, MemberTooLargeError
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.seven_zip import (
    MAGIC,
    CorruptSevenZipError,
    EncryptedNamesError,
    list_seven_zip,
)

MOST_MEMBERS = 10_000
_GLOB_FLAGS = glob.GLOBSTAR | glob.BRACE | glob.FORCEUNIX | glob.CASE
_BLOCK_BYTES = 512
_OUTSIDE = re.compile(r"/|[A-Za-z]:|(?:.*/)?\.\.(?:/|\Z)", re.DOTALL)
_ENCRYPTED = 0x1
_UNPROTECT = "store the archive without a password"
_CORRUPT = (
    *(zipfile.BadZipFile, tarfile.TarError, CorruptSevenZipError),
    *(NotImplementedError, ValueError, EOFError),
)
_SHOWN_NAMES = 5

_Lister = Callable[[bytes], Iterable[ArchiveMember]]


def iter_members(source: ObjectData, pattern: str, max_bytes: int) -> Iterator[ObjectData]:
    """Yield the files of an archive in its order, with addresses such as `s3://b/a.zip!/orders/1.csv`.

    `pattern` is a glob for their names; without one, files with names that begin with a dot, and the
    `__MACOSX` folder, are left out. Of files with equal names the last one counts, and empty ones are left
    out. An archive in an archive is a plain file.

    Raises ObjectUnreadableError for an archive that is corrupt, or has no such file, or one that is encrypted
    or has a name outside the archive; ObjectTooLargeError as soon as the files have more than `max_bytes`.
    """
    members = _read_members(source, _choose_lister(source, max_bytes))
    left = max_bytes
    for member in _select(source.uri, members, pattern):
        data = _read(source.uri, member, left)
        left -= len(data)
        if data:
            yield ObjectData(f"{source.uri}!/{member.name}", data, source.last_modified, source.uri)


def _choose_lister(source: ObjectData, max_bytes: int) -> _Lister:
    if source.data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _list_zip
    if not source.data.startswith(MAGIC):
        return _list_tar
    if not is_installed("7z"):
        # Not an error of the configuration: a path without `.7z` matches such an object, too.
        raise ObjectUnreadableError(
            f"{source.uri} is a 7z archive, which requires the extra '7z'",
            hint=f"{format_install_command(['7z'])}; then headwater quarantine retry",
        )
    return partial(list_seven_zip, max_bytes=max_bytes)


def _read_members(source: ObjectData, list_members: _Lister) -> list[ArchiveMember]:
    try:
        found: dict[str, ArchiveMember] = {}
        for member in list_members(source.data):
            found.pop(member.name, None)
            found[member.name] = member
            if len(found) > MOST_MEMBERS:
                raise ObjectTooLargeError(
                    f"{source.uri} has more than {MOST_MEMBERS:,} files", hint="split the archive"
                )
    except EncryptedNamesError as error:
        raise ObjectUnreadableError(
            f"{source.uri} is encrypted: its list of files requires a password", hint=_UNPROTECT
        ) from error
    except _CORRUPT as error:
        raise ObjectUnreadableError(
            f"{source.uri} is no complete archive: {error}",
            hint="zip, tar and 7z are supported; tar also compressed with gzip, bzip2 or zstd",
        ) from error
    return list(found.values())


def _list_zip(data: bytes) -> Iterator[ArchiveMember]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    for info in archive.infolist():
        if not info.is_dir():
            yield ArchiveMember(info.filename, partial(archive.open, info), bool(info.flag_bits & _ENCRYPTED))


def _list_tar(data: bytes) -> Iterator[ArchiveMember]:
    archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:")  # noqa: SIM115 - in memory
    for info in archive:
        # Links have no content of their own.
        if info.isreg():
            yield ArchiveMember(info.name, partial(archive.extractfile, info))
    # The library takes a corrupt header for the end.
    end = data[archive.offset : archive.offset + _BLOCK_BYTES]
    if end != bytes(_BLOCK_BYTES):
        raise tarfile.ReadError(f"corrupt or truncated at byte {archive.offset}")


def _select(uri: str, members: list[ArchiveMember], pattern: str) -> list[ArchiveMember]:
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
                hint=_UNPROTECT,
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


def _read(uri: str, member: ArchiveMember, limit: int) -> bytes:
    try:
        with member.open() or io.BytesIO() as file:
            # The size that an archive states may be wrong.
            data = file.read(limit + 1)
    except MemberTooLargeError as error:
        raise _too_large(uri, member) from error
    except Exception as error:
        # The decompressors of zip and 7z raise errors of their own.
        raise ObjectUnreadableError(
            f"{uri} is corrupt, or compressed by a method that is not supported: {member.name!r}: {error}",
            hint="in a zip: deflate, bzip2, lzma, or not compressed; in a 7z: LZMA2, LZMA, bzip2, or not "
            "compressed",
        ) from error
    if len(data) > limit:
        raise _too_large(uri, member)
    return data


def _too_large(uri: str, member: ArchiveMember) -> ObjectTooLargeError:
    return ObjectTooLargeError(
        f"{uri} has more than the allowed bytes when unpacked, in {member.name!r}", hint="split the archive"
    )
