"""Archives: what is read of them, in which order, and what is refused."""

import bz2
import gzip
import io
import struct
import sys
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
import zstandard
from py7zr import (
    FILTER_BROTLI,
    FILTER_BZIP2,
    FILTER_COPY,
    FILTER_DEFLATE,
    FILTER_DELTA,
    FILTER_LZMA,
    FILTER_LZMA2,
    FILTER_PPMD,
    FILTER_X86,
    FILTER_ZSTD,
)

from headwater.config.file_format import infer_format, is_archive
from headwater.errors import ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.formats import open_parts
from headwater.ingest.formats.archive import MOST_MEMBERS
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions
from tests.fixtures.written_files import write_7z, write_tar, write_zip

FILES = {"b/2.json": b'{"id": 2}\n', "a/1.json": b'{"id": 1}\n'}
Files = Mapping[str, bytes]


def write_7z_number(value: int) -> bytes:
    return b"\xff" + value.to_bytes(8, "little")


def build_linked_tar() -> bytes:
    sink = io.BytesIO(write_tar({"1.json": b"1\n"}))
    with tarfile.open(fileobj=sink, mode="a") as archive:
        for name, kind in (("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE), ("2", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    return sink.getvalue()


compress_zstd: Callable[[bytes], bytes] = zstandard.ZstdCompressor().compress
ARCHIVES: dict[str, Callable[[Files], bytes]] = {
    "a.zip": write_zip,
    "stored.zip": lambda files: write_zip(files, zipfile.ZIP_STORED),
    "bzip2.zip": lambda files: write_zip(files, zipfile.ZIP_BZIP2),
    "lzma.ZIP": lambda files: write_zip(files, zipfile.ZIP_LZMA),
    "a.tar": write_tar,
    "gnu.tar": lambda files: write_tar(files, tarfile.GNU_FORMAT),
    "ustar.tar": lambda files: write_tar(files, tarfile.USTAR_FORMAT),
    "a.tar.gz": lambda files: gzip.compress(write_tar(files)),
    "a.tgz": lambda files: gzip.compress(write_tar(files)),
    "a.tar.bz2": lambda files: bz2.compress(write_tar(files)),
    "a.tbz2": lambda files: bz2.compress(write_tar(files)),
    "a.tar.zst": lambda files: compress_zstd(write_tar(files)),
    "a.tzst": lambda files: compress_zstd(write_tar(files)),
    "no-extension-of-gzip.tar": lambda files: gzip.compress(write_tar(files)),
    "a.7z": write_7z,
    "lzma.7Z": lambda files: write_7z(files, [{"id": FILTER_LZMA}]),
    "bzip2.7z": lambda files: write_7z(files, [{"id": FILTER_BZIP2}]),
    "stored.7z": lambda files: write_7z(files, [{"id": FILTER_COPY}]),
    "x86.7z": lambda files: write_7z(files, [{"id": FILTER_X86}, {"id": FILTER_LZMA2, "preset": 1}]),
    "delta.7z": lambda files: write_7z(files, [{"id": FILTER_DELTA}, {"id": FILTER_LZMA2, "preset": 1}]),
}
EVERY = pytest.mark.parametrize(("key", "build"), ARCHIVES.items(), ids=ARCHIVES)
KINDS = pytest.mark.parametrize(
    ("key", "build"),
    [("a.zip", write_zip), ("a.tar", write_tar), ("a.7z", write_7z)],
    ids=["zip", "tar", "7z"],
)


def read(key: str, data: bytes, limit: int = 10**6, members: str = "") -> list[tuple[str, bytes]]:
    options = ReaderOptions({"members": members} if members else {})
    parts = open_parts(ObjectData(f"s3://b/{key}", data), "json", options, limit)
    return [(part.uri.partition("!/")[2], part.data) for part in parts]


@EVERY
def test_files_come_in_the_order_of_the_archive(key: str, build: Callable[[Files], bytes]) -> None:
    assert read(key, build(FILES)) == list(FILES.items())
    (address,) = (
        part.uri
        for part in open_parts(ObjectData(f"s3://b/{key}", build({"1": b"1"})), "json", ReaderOptions({}))
    )
    assert address == f"s3://b/{key}!/1"


@EVERY
def test_every_truncation_is_refused(key: str, build: Callable[[Files], bytes]) -> None:
    data = build(FILES)
    # The last block of zeros of a tar is padding; so are all beyond the second.
    end = 4 * 512 + 511 if key.endswith("tar") and not data.startswith(b"\x1f\x8b") else len(data)
    for length in range(1, end, 7):
        with pytest.raises(ObjectUnreadableError, match="s3://b/"):
            read(key, data[:length])


@KINDS
def test_corrupt_content_is_refused(key: str, build: Callable[[Files], bytes]) -> None:
    data = bytearray(build({"1.json": b"x" * 5_000, "2.json": b"y" * 5_000}))
    # Of a tar, the header of the second file: the library would end there.
    at = 512 + 5_120 + 148 if key == "a.tar" else 40
    data[at] ^= 0xFF
    with pytest.raises(ObjectUnreadableError, match="corrupt"):
        read(key, bytes(data))


def test_no_corrupt_byte_of_a_7z_changes_its_files() -> None:
    data = write_7z(FILES)
    for at in range(len(data)):
        corrupt = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        with suppress(ObjectUnreadableError):
            assert read("a.7z", corrupt) == list(FILES.items())


@KINDS
def test_a_bomb_stops_at_the_limit_of_all_files_together(key: str, build: Callable[[Files], bytes]) -> None:
    data = build({f"{n}.json": bytes(300_000) for n in range(4)})
    with pytest.raises(ObjectTooLargeError, match="allowed bytes when unpacked"):
        read(key, data, 1_000_000)
    assert len(read(key, data, 1_200_000)) == 4
    with pytest.raises(ObjectTooLargeError, match="when decompressed"):
        read(key, build({"1.json.gz": gzip.compress(bytes(5_000_000))}), 1_000_000)


@KINDS
def test_compressed_files_are_decompressed_within_the_limit(
    key: str, build: Callable[[Files], bytes]
) -> None:
    packed = {f"{n}.json.gz": gzip.compress(bytes(400_000)) for n in range(3)}
    assert [len(data) for _, data in read(key, build(packed), 1_200_000)] == [400_000] * 3
    with pytest.raises(ObjectTooLargeError):
        read(key, build(packed), 1_100_000)


@KINDS
def test_too_many_files_are_refused(key: str, build: Callable[[Files], bytes]) -> None:
    with pytest.raises(ObjectTooLargeError, match="10,000 files"):
        read(key, build({str(n): b"1" for n in range(MOST_MEMBERS + 1)}), 10**8)


@pytest.mark.parametrize(
    "name", ["../1.json", "a/../../1.json", "/1.json", "C:\\1.json", "..\\1.json", "a/.."]
)
@KINDS
def test_names_outside_the_archive_are_refused(key: str, build: Callable[[Files], bytes], name: str) -> None:
    data = build({"2.json": b"2\n", name: b"1\n"})
    with pytest.raises(ObjectUnreadableError, match="outside the archive") as caught:
        read(key, data)
    assert "members" in (caught.value.hint or "")
    assert read(key, data, members="2.json") == [("2.json", b"2\n")]
    assert read(key, build({"a..b/c..json": b"1"}), members="**/*.json") == [("a..b/c..json", b"1")]


def test_encrypted_files_are_refused_if_they_are_wanted() -> None:
    data = bytearray(write_zip(FILES))
    # The flag of the first file, in its entry of the central directory.
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ObjectUnreadableError, match="password"):
        read("a.zip", bytes(data))
    assert read("a.zip", bytes(data), members="a/*") == [("a/1.json", FILES["a/1.json"])]


def test_methods_that_are_not_supported_are_named() -> None:
    data = bytearray(write_zip({"1.json": b"1\n"}))
    for at in (8, data.index(b"PK\x01\x02") + 10):
        data[at] = 9  # deflate64
    with pytest.raises(ObjectUnreadableError, match="not supported") as caught:
        read("a.zip", bytes(data))
    assert "deflate" in (caught.value.hint or "")


@pytest.mark.parametrize("are_names_encrypted", [False, True])
def test_encrypted_files_of_a_7z_are_refused(are_names_encrypted: bool) -> None:
    data = write_7z(FILES, password="secret", header_encryption=are_names_encrypted)
    with pytest.raises(ObjectUnreadableError, match=r"s3://b/a\.7z is encrypted: .* requires a password"):
        read("a.7z", data)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (FILTER_ZSTD, "ZStandard"),
        (FILTER_DEFLATE, "DEFLATE"),
        (FILTER_BROTLI, "04f71102"),
        (FILTER_PPMD, "PPMd"),
    ],
)
def test_methods_of_a_7z_that_decompress_more_than_the_limit_are_named(number: int, name: str) -> None:
    options = {"order": 6, "mem": 24} if number == FILTER_PPMD else {"level": 3}
    data = write_7z({"1.json": b"1\n"}, [{"id": number, **options}])
    with pytest.raises(ObjectUnreadableError, match=f"not supported: '1.json': method {name}\n") as caught:
        read("a.7z", data)
    assert "LZMA2" in (caught.value.hint or "")


def test_skipped_files_of_a_solid_block_count_because_they_are_decompressed() -> None:
    data = write_7z({"1": bytes(400_000), "2": b"2", "3": bytes(400_000), "4": b"4"})
    assert read("a.7z", data, 400_001, members="2") == [("2", b"2")]
    assert read("a.7z", data, 800_002, members="[24]") == [("2", b"2"), ("4", b"4")]
    with pytest.raises(ObjectTooLargeError, match="in '4'"):
        read("a.7z", data, 800_001, members="[24]")


def test_a_list_of_files_that_grows_out_of_proportion_is_refused() -> None:
    # Names of zeros: 12 kilobytes become 5 megabytes.
    data = write_7z({f"{n:0>1000}": b"" for n in range(2_500)})
    assert len(data) < 50_000
    with pytest.raises(ObjectUnreadableError, match="decoded header size exceeds limit 4194304"):
        read("a.7z", data)


def test_a_list_of_millions_of_files_is_refused_before_it_is_built() -> None:
    # Files without names take no more than a number; the library would hold half a kilobyte for each.
    count, padding = 1_000_000, 1_000_000
    files = b"\x05" + write_7z_number(count) + b"\x19" + write_7z_number(padding) + bytes(padding) + b"\0"
    header = b"\x01" + files + b"\0"
    start = struct.pack("<QQL", 0, len(header), zlib.crc32(header))
    data = b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<L", zlib.crc32(start)) + start + header
    tracemalloc.start()
    with pytest.raises(ObjectUnreadableError, match="numfiles value 1000000 exceeds limit"):
        read("a.7z", data)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_7z_without_its_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py7zr", None)
    with pytest.raises(ObjectUnreadableError, match="requires the extra '7z'") as caught:
        read("a.7z", write_7z(FILES))
    assert "pip install 'headwater[7z]'" in (caught.value.hint or "")


@KINDS
def test_what_no_one_put_there_on_purpose_is_left_out(key: str, build: Callable[[Files], bytes]) -> None:
    junk = {"__MACOSX/a/._1.json": b"junk", ".DS_Store": b"junk", "a/.hidden": b"junk", "empty.json": b""}
    assert read(key, build({**junk, **FILES})) == list(FILES.items())
    assert read(key, build({**junk, **FILES}), members="{a,b}/[12].json") == list(FILES.items())
    with pytest.raises(ObjectUnreadableError, match="no file to read; its files: '__MACOSX"):
        read(key, build({"__MACOSX/a/._1.json": b"junk"}))
    with pytest.raises(ObjectUnreadableError, match=r"no file that matches '\*\.csv'"):
        read(key, build(FILES), members="*.csv")
    with pytest.raises(ObjectUnreadableError, match="its files: none"):
        read(key, build({}))
    assert read(key, build({"empty.json": b""})) == []


def test_links_and_folders_are_no_files() -> None:
    assert read("a.tar", build_linked_tar()) == [("1.json", b"1\n")]


def test_of_equal_names_the_last_file_counts() -> None:
    # `tar --append` updates a file so.
    sink = io.BytesIO(write_tar({"1": b"old", "2": b"2"}))
    with tarfile.open(fileobj=sink, mode="a") as archive:
        info = tarfile.TarInfo("1")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"new"))
    assert read("a.tar", sink.getvalue()) == [("2", b"2"), ("1", b"new")]


@pytest.mark.parametrize("data", [b"not an archive", b"", b"PK\x03\x04", bytes(512), b"7z\xbc\xaf\x27\x1c"])
def test_other_bytes_are_refused(data: bytes) -> None:
    for key in ("a.zip", "a.tar"):
        with pytest.raises(ObjectUnreadableError, match=r"no complete archive|has no file"):
            read(key, data)


def test_binary_and_objects_without_the_extension_stay_whole() -> None:
    data = write_zip(FILES)
    for key, name in (("a.zip", "binary"), ("a.xlsx", "json"), ("zip", "json")):
        (part,) = open_parts(ObjectData(key, data), name, ReaderOptions({}))
        assert part.data is data


@pytest.mark.parametrize(
    ("key", "packed", "implied"),
    [
        ("a/b.csv.zip", True, "csv"),
        ("b.zip", True, None),
        ("b.parquet.tar", True, "parquet"),
        ("b.json.tar.gz", True, "json"),
        ("b.tgz", True, None),
        ("b.csv.7z", True, "csv"),
        ("b.zip.csv", False, "csv"),
        ("a.zip/b.csv.gz", False, "csv"),
        ("zip", False, None),
        ("b.gz", False, None),
    ],
)
def test_endings(key: str, packed: bool, implied: str | None) -> None:
    assert (is_archive(key), infer_format(key)) == (packed, implied)
