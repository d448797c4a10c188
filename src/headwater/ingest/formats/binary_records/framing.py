"""Splits an object into records: lengths before them, and the header of Confluent's serializers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from headwater.ingest.formats.binary_records.faults import RecordFaultError

_LONGEST_VARINT = 10
_PREFIX_BYTES = 4
_HEADER_BYTES = 5
"""A zero, and the id of the schema in four bytes."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes of one record. `fault`: they are incomplete, and nothing after them can be found."""

    data: bytes
    fault: str = ""


def split_records(data: bytes, framing: str) -> Iterator[Frame]:
    """Yield the records of an object. Lengths are varints, as `writeDelimitedTo` of protobuf writes them, or
    four bytes (`length_prefixed`, big-endian); with `single`, the object is the record."""
    if framing == "single":
        yield Frame(data)
        return
    read_length = _LENGTHS[framing]
    at = 0
    while at < len(data):
        try:
            length, begin = read_length(data, at)
        except RecordFaultError as error:
            yield Frame(data[at:], f"{error} at byte {at}")
            return
        if length > len(data) - begin:
            left = len(data) - begin
            yield Frame(data[at:], f"record of {length} bytes at byte {at}, of which the object has {left}")
            return
        yield Frame(data[begin : begin + length])
        at = begin + length


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset after it. Raises RecordFaultError."""
    value = 0
    for count in range(_LONGEST_VARINT):
        if at + count >= len(data):
            raise RecordFaultError("truncated length")
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at + count + 1
    raise RecordFaultError("length of more than 10 bytes")


def _read_prefix(data: bytes, at: int) -> tuple[int, int]:
    end = at + _PREFIX_BYTES
    if end > len(data):
        raise RecordFaultError("truncated length")
    return int.from_bytes(data[at:end], "big"), end


_LENGTHS: Mapping[str, Callable[[bytes, int], tuple[int, int]]] = {
    "delimited": read_varint,
    "length_prefixed": _read_prefix,
}


def split_header(data: bytes) -> tuple[int, bytes]:
    """Return the schema's id and the rest of a record in Confluent's wire format. Raises RecordFaultError."""
    if len(data) < _HEADER_BYTES or data[0] != 0:
        raise RecordFaultError(
            f"no header of Confluent's serializers: begins with {data[:5].hex(' ') or 'nothing'}"
        )
    return int.from_bytes(data[1:_HEADER_BYTES], "big"), data[_HEADER_BYTES:]


def split_message_path(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """Return the indexes that locate a protobuf message type in its schema, and the message.

    Raises RecordFaultError.
    """
    count, at = _read_signed(data, 0)
    if count == 0:
        # Short for the first message type.
        return (0,), data[at:]
    if not 0 < count <= len(data):
        raise RecordFaultError(f"{count} message indexes")
    indexes = []
    for _ in range(count):
        index, at = _read_signed(data, at)
        indexes.append(index)
    return tuple(indexes), data[at:]


def _read_signed(data: bytes, at: int) -> tuple[int, int]:
    """Read a number in zigzag encoding."""
    value, at = read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at
