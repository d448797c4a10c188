"""Decompresses whole objects: gzip (also of several members), bzip2 and zstd."""

import bz2
from collections.abc import Iterator

import pyarrow as pa

from headwater.errors import ObjectTooLargeError, ObjectUnreadableError

_CODEC_BY_SUFFIX = {
    **{"gz": "gzip", "gzip": "gzip", "tgz": "gzip"},
    **{"bz2": "bz2", "tbz2": "bz2"},
    **{"zst": "zstd", "zstd": "zstd", "tzst": "zstd"},
}
_MAGIC = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "zstd": b"\x28\xb5\x2f\xfd"}
# A zstd stream may start with a skippable frame, which has sixteen magic numbers.
_SKIPPABLE = tuple(bytes([0x50 + n, 0x2A, 0x4D, 0x18]) for n in range(16))
_CHUNK_BYTES = 256 * 1024


def find_codec(key: str, data: bytes) -> str | None:
    """Return `gzip`, `bz2`, `zstd`, or None for plain bytes.

    The key's extension takes precedence. Without one the first bytes decide, since many writers omit the
    extension. Raises ObjectUnreadableError if the bytes contradict the extension.
    """
    promised = _CODEC_BY_SUFFIX.get(key.rsplit(".", 1)[-1].lower()) if "." in key else None
    if promised is None:
        # Not by "BZh" or a skippable frame: text can start with those.
        return next((codec for codec in ("gzip", "zstd") if data.startswith(_MAGIC[codec])), None)
    skippable = promised == "zstd" and data.startswith(_SKIPPABLE)
    if not data.startswith(_MAGIC[promised]) and not skippable:
        raise ObjectUnreadableError(
            f"{key!r} has the extension of {promised} but begins with {data[:4].hex(' ')} instead of "
            f"{_MAGIC[promised].hex(' ')}",
            hint="compress the object, or remove the extension from its key",
        )
    return promised


def decompress(key: str, data: bytes, max_bytes: int) -> bytes:
    """Return the plain bytes of an object; `data` itself if it is not compressed.

    Raises ObjectUnreadableError (truncated, corrupt, wrong extension), and ObjectTooLargeError as soon as
    there are more than `max_bytes`.
    """
    codec = find_codec(key, data)
    if codec is None:
        return data
    chunks: list[bytes] = []
    size = 0
    try:
        for chunk in _iter_bz2(data) if codec == "bz2" else _iter_stream(data, codec):
            size += len(chunk)
            if size > max_bytes:
                raise ObjectTooLargeError(
                    f"{key!r} grows from {len(data)} to more than {max_bytes} bytes when decompressed",
                    hint="raise the limit for one object, or split the object",
                )
            chunks.append(chunk)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise ObjectUnreadableError(
            f"{key!r} is truncated or corrupt {codec}: decompression failed after {size} bytes; "
            f"compressed size {len(data)} bytes: {error}"
        ) from error
    return b"".join(chunks)


def _iter_stream(data: bytes, codec: str) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk


def _iter_bz2(data: bytes) -> Iterator[bytes]:
    # pyarrow fails on a second stream (pbzip2 writes many), and bz2.open ignores a corrupt one.
    while data:
        decompressor = bz2.BZ2Decompressor()
        yield decompressor.decompress(data, _CHUNK_BYTES)
        while not decompressor.eof:
            if decompressor.needs_input:
                raise EOFError("the stream ends too early")
            yield decompressor.decompress(b"", _CHUNK_BYTES)
        data = decompressor.unused_data
