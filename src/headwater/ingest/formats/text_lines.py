"""Converts bytes to text and text to lines like Spark's text-based readers."""

import codecs
import re

from headwater.errors import ConfigError, ObjectUnreadableError
from headwater.ingest.formats.markers import UNDECODED
from headwater.ingest.formats.reader_options import ReaderOptions

# UTF-32 first: its little-endian mark starts with UTF-16's.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY_MAGIC = ((b"PAR1", "Parquet"), (b"Obj\x01", "Avro"), (b"PK\x03\x04", "ZIP"), (b"BZh", "bzip2"))
_SAMPLE_CHARS = 64 * 1024
_JUNK_SHARE = 0.3
_JUNK = re.compile(f"[\0{UNDECODED}]")
_ERRORS = "headwater.undecoded"
# Java's String.trim, by which Spark detects blank lines: all characters up to the space.
JAVA_BLANKS = "".join(map(chr, range(0x21)))


def decode_text(uri: str, data: bytes, options: ReaderOptions) -> str:
    """Decode an object without its byte order mark, which outranks option `encoding` (UTF-8).

    `UNDECODED` replaces each piece that cannot be decoded: see `mark_undecodable`. Raises
    ObjectUnreadableError for bytes that are not text at all.
    """
    encoding, start = _find_encoding(data, options.text("encoding", "charset"))
    body = data[start:] if start else data
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        text = body.decode(encoding, _ERRORS)
        _refuse_junk(uri, data, text, encoding, f"first undecodable byte at offset {error.start + start}")
    else:
        if "\0" in text:
            _refuse_junk(uri, data, text, encoding, f"first zero byte at offset {data.find(0)}")
    return text


def split_lines(text: str, separator: str = "") -> list[str]:
    """Return the physical lines without their ends; the last one may lack its end.

    Without a `separator`, only `\\n`, `\\r\\n` and `\\r` end a line. `str.splitlines` would also split at
    form feeds and U+2028, which are data.
    """
    if separator:
        lines = text.split(separator)
    else:
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _find_encoding(data: bytes, named: str) -> tuple[str, int]:
    """Return the codec, and the length of the byte order mark to skip."""
    try:
        encoding = codecs.lookup(named or "utf-8").name
    except LookupError as error:
        raise ConfigError(
            f"reader option encoding is {named!r}, which is not a known encoding",
            hint="set it to UTF-8 or ISO-8859-1, for instance",
        ) from error
    marks = [(mark, marked) for mark, marked in _BYTE_ORDER_MARKS if data.startswith(mark)]
    # A mark shows the file's own encoding, whatever those of others. UTF-32's may be UTF-16's and a zero.
    for mark, marked in sorted(marks, key=lambda found: not (named and found[1].startswith(encoding))):
        return marked, len(mark)
    # Without a mark, Java reads both as big-endian, Python in the machine's order.
    return (f"{encoding}-be" if encoding in ("utf-16", "utf-32") else encoding), 0


def _replace_undecoded(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNDECODED, error.end


codecs.register_error(_ERRORS, _replace_undecoded)


def _refuse_junk(uri: str, data: bytes, text: str, encoding: str, where: str) -> None:
    binary_format = next((name for magic, name in _BINARY_MAGIC if data.startswith(magic)), None)
    sample = text[:_SAMPLE_CHARS]
    share = len(_JUNK.findall(sample)) / len(sample)
    if binary_format is None and share < _JUNK_SHARE:
        return
    what = f"it looks like {binary_format}" if binary_format else f"{share:.0%} of it cannot be decoded"
    raise ObjectUnreadableError(
        f"{uri} is not {encoding} text: {what}; {where}",
        hint="set the table's `format` or the reader option `encoding`, or exclude the object with `path`",
    )
