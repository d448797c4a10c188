"""Lists the files of 7z archives, and decompresses them within a limit; requires the extra `7z`.

Only methods are supported whose decompressors stop at a size: py7zr decompresses a megabyte of zstd, Deflate,
Deflate64 or Brotli at once, which may become gigabytes. PPMd reserves as much memory as the archive states.
"""

import io
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from headwater.ingest.formats.archive_member import ArchiveMember, MemberTooLargeError

if TYPE_CHECKING:
    from py7zr import SevenZipFile
    from py7zr.archiveinfo import Folder
    from py7zr.py7zr import ArchiveFile

MAGIC = b"7z\xbc\xaf\x27\x1c"
_ENCODED_HEADER = b"\x17"
_MOST_HEADER_BYTES = 4 * 1024**2
"""Of the unpacked list of files: 10,000 files take 2 to 3 MiB."""
_MOST_ENTRIES = 20_000
"""Files and folders in the list, and solid blocks: the library holds half a kilobyte for each."""
_NO_END = 2**63


class EncryptedNamesError(Exception):
    """Raised for an archive whose list of files requires a password."""


class CorruptSevenZipError(Exception):
    """Raised for an archive whose list of files cannot be read."""


def list_seven_zip(data: bytes, max_bytes: int) -> Iterator[ArchiveMember]:
    """Yield the files of an archive in its order, without folders and links.

    The files must be opened in that order: each is decompressed once, also those between two opened ones if
    they share a solid block. All of them together have at most `max_bytes`.

    Raises EncryptedNamesError, and CorruptSevenZipError for any other archive that cannot be listed.
    """
    import py7zr

    _limit_library()
    try:
        _check_header(data)
        archive = py7zr.SevenZipFile(io.BytesIO(data))
        files = list(getattr(archive, "files", ()))
        blocks = _list_blocks(archive, data, files, max_bytes)
    except py7zr.PasswordRequired as error:
        raise EncryptedNamesError from error
    except Exception as error:
        # A corrupt header raises whatever its bytes lead to: TypeError, KeyError, LZMAError, struct.error.
        raise CorruptSevenZipError(f"{type(error).__name__}: {error}") from error
    for file in files:
        if file.is_directory or file.is_symlink or file.is_junction or file.is_socket:
            continue
        block = blocks.get(id(file.folder))
        if block is None:
            yield ArchiveMember(file.filename, io.BytesIO)
        else:
            yield ArchiveMember(file.filename, partial(block.open, file.id), block.is_encrypted)


class _Budget:
    """The bytes that may still be decompressed."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, size: int) -> None:
        if size > self._left:
            raise MemberTooLargeError
        self._left -= size


class _SolidBlock:
    """Files that are compressed as one stream, which is decompressed once, from its beginning."""

    def __init__(
        self, archive: "SevenZipFile", folder: "Folder", source: io.BytesIO, budget: _Budget
    ) -> None:
        self._archive = archive
        self._folder = folder
        self._source = source
        self._budget = budget
        self._files: dict[int, ArchiveFile] = {}
        self.is_encrypted = _is_encrypted(folder)

    def add(self, file: "ArchiveFile") -> None:
        """Add the next file. Raises ValueError for a size that only a corrupt archive states."""
        if file.uncompressed < 0:
            raise ValueError(f"{file.filename!r} has {file.uncompressed} bytes")
        self._files[file.id] = file

    def open(self, file_id: int) -> io.BytesIO:
        """Return the content of a file that follows the last one opened."""
        _check_methods(self._folder)
        for skipped in [number for number in self._files if number < file_id]:
            self._decompress(self._files.pop(skipped))
        return self._decompress(self._files.pop(file_id))

    def _decompress(self, file: "ArchiveFile") -> io.BytesIO:
        # The library decompresses exactly the size that the archive states.
        self._budget.spend(file.uncompressed)
        content = io.BytesIO()
        checksum = self._archive.worker.decompress(
            self._source, self._folder, content, file.uncompressed, file.compressed, _NO_END
        )
        if file.crc32 is not None and checksum != file.crc32:
            raise ValueError(
                f"the checksum of {file.filename!r} is {checksum:08x} instead of {file.crc32:08x}"
            )
        content.seek(0)
        return content


def _list_blocks(
    archive: "SevenZipFile", data: bytes, files: Iterable["ArchiveFile"], max_bytes: int
) -> dict[int, _SolidBlock]:
    """Return the blocks by the identity of the library's folder."""
    header = getattr(archive, "header", None)
    streams = header.main_streams if header is not None else None
    if streams is None:
        return {}
    budget = _Budget(max_bytes)
    begin = archive.afterheader + streams.packinfo.packpos
    blocks = {}
    for folder, position in zip(streams.unpackinfo.folders, streams.packinfo.packpositions, strict=False):
        source = io.BytesIO(data)
        source.seek(begin + position)
        blocks[id(folder)] = _SolidBlock(archive, folder, source, budget)
    for file in files:
        if file.folder is not None:
            blocks[id(file.folder)].add(file)
    return blocks


def _limit_library() -> None:
    """Lower the library's own limits, which allow a few kilobytes to become gigabytes of objects."""
    from py7zr import archiveinfo

    archiveinfo.MAX_HEADER_SIZE = _MOST_HEADER_BYTES
    archiveinfo.MAX_NUMFILES = archiveinfo.MAX_NUMFOLDERS = archiveinfo.MAX_SUBSTREAMS = _MOST_ENTRIES


def _check_header(data: bytes) -> None:
    """Check how the list of files is compressed, because the library decompresses it at once."""
    from py7zr.archiveinfo import HeaderStreamsInfo, SignatureHeader

    file = io.BytesIO(data)
    signature = SignatureHeader.retrieve(file)
    file.seek(file.tell() + signature.nextheaderofs)
    if file.read(1) == _ENCODED_HEADER:
        header = HeaderStreamsInfo.retrieve(io.BytesIO(file.read(signature.nextheadersize - 1)))
        for folder in header.unpackinfo.folders:
            if not _is_encrypted(folder):
                _check_methods(folder)


def _is_encrypted(folder: "Folder") -> bool:
    from py7zr.properties import COMPRESSION_METHOD

    return any(coder["method"] == COMPRESSION_METHOD.CRYPT_AES256_SHA256 for coder in folder.coders)


def _check_methods(folder: "Folder") -> None:
    from py7zr.compressor import get_methods_names
    from py7zr.properties import COMPRESSION_METHOD as METHOD

    filters = (
        METHOD.DELTA,
        METHOD.P7Z_BCJ,
        METHOD.BCJ_PPC,
        METHOD.BCJ_ARM,
        METHOD.BCJ_ARMT,
        METHOD.BCJ_SPARC,
    )
    supported = {METHOD.COPY, METHOD.LZMA, METHOD.LZMA2, METHOD.MISC_BZIP2, *filters}
    for coder in folder.coders:
        if coder["method"] not in supported:
            name, *_ = [*get_methods_names([[coder]]), coder["method"].hex()]
            raise ValueError(f"method {name.rstrip('*')}")
