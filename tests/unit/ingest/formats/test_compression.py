import bz2
import gzip
from collections.abc import Callable

import pytest
import zstandard

from headwater.errors import ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.formats.compression import decompress

TEXT = b"".join(b'{"id": %d, "name": "n%d"}\n' % (n, n * 7919) for n in range(200))
Compress = Callable[[bytes], bytes]
CODECS: list[tuple[str, Compress]] = [
    ("gz", gzip.compress),
    ("bz2", bz2.compress),
    ("zst", zstandard.ZstdCompressor(write_checksum=True).compress),
]
EVERY = pytest.mark.parametrize(("suffix", "compress"), CODECS, ids=[s for s, _ in CODECS])


@EVERY
def test_bytes_come_back(suffix: str, compress: Compress) -> None:
    assert decompress(f"a.json.{suffix}", compress(TEXT), 10**6) == TEXT
    assert decompress(f"a.json.{suffix.upper()}", compress(b""), 10**6) == b""


@EVERY
def test_several_members_are_one_object(suffix: str, compress: Compress) -> None:
    data = compress(TEXT[:100]) + compress(b"") + compress(TEXT[100:])
    assert decompress(f"a.{suffix}", data, 10**6) == TEXT


@EVERY
def test_every_truncation_is_refused(suffix: str, compress: Compress) -> None:
    data = compress(TEXT)
    for length in range(len(data)):
        with pytest.raises(ObjectUnreadableError, match=r"a\.json"):
            decompress(f"a.json.{suffix}", data[:length], 10**6)


@EVERY
def test_a_corrupt_byte_is_refused(suffix: str, compress: Compress) -> None:
    data = bytearray(compress(TEXT))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(ObjectUnreadableError, match="truncated or corrupt"):
        decompress(f"a.{suffix}", bytes(data), 10**6)


@EVERY
def test_trailing_bytes_are_rejected(suffix: str, compress: Compress) -> None:
    with pytest.raises(ObjectUnreadableError, match="truncated or corrupt"):
        decompress(f"a.{suffix}", compress(TEXT) + b"and more", 10**6)


@EVERY
def test_a_bomb_stops_at_the_limit(suffix: str, compress: Compress) -> None:
    data = compress(bytes(50_000_000))
    with pytest.raises(ObjectTooLargeError, match="more than 1000000 bytes when decompressed"):
        decompress(f"a.{suffix}", data, 1_000_000)
    assert len(decompress(f"a.{suffix}", data, 50_000_000)) == 50_000_000


def test_a_name_that_promises_too_much_is_refused() -> None:
    with pytest.raises(ObjectUnreadableError, match="the extension of gzip but begins with 7b"):
        decompress("a.json.gz", b'{"a": 1}', 10**6)


def test_first_bytes_decide_without_a_known_suffix() -> None:
    assert decompress("part-0001", gzip.compress(TEXT), 10**6) == TEXT
    assert decompress("a.json", zstandard.compress(TEXT), 10**6) == TEXT


def test_plain_bytes_stay_as_they_are() -> None:
    assert decompress("a.json", TEXT, 1) is TEXT
    assert decompress("gz", b"BZh is how this text begins", 1) == b"BZh is how this text begins"
