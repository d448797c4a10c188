"""`SourceText`: decoded bytes, with a mapping back to byte offsets."""

import re

from bs4.dammit import EncodingDetector

# The mark of UTF-32-LE begins with that of UTF-16-LE.
_MARKS = (
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-32-le", b"\xff\xfe\0\0"),
    ("utf-32-be", b"\0\0\xfe\xff"),
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
)
_JUNK = re.compile("[\0\ufffd]")
_JUNK_SHARE = 0.1
# The search takes quadratic time; browsers search 1,024 bytes.
_DECLARED_WITHIN = 16 * 1024


class SourceText:
    """Decodes by byte order mark, the declared encoding (HTML), UTF-8, else Windows-1252.

    Raises `ValueError` if the result is not text.
    """

    def __init__(self, data: bytes, *, declares: bool = False) -> None:
        self._encoding, self._skipped = _find_encoding(data, declares=declares)
        self.text = data[self._skipped :].decode(self._encoding, "replace")
        self._line_starts: list[int] | None = None
        self._last = (0, self._skipped)
        junk = len(_JUNK.findall(self.text))
        if junk > _JUNK_SHARE * max(len(self.text), 1):
            raise ValueError(f"{junk} of {len(self.text)} characters cannot be decoded as {self._encoding}")

    def offset(self, position: int) -> int:
        """Return the byte offset of a character; fastest for ascending positions."""
        at, found = self._last if self._last[0] <= position else (0, self._skipped)
        found += len(self.text[at:position].encode(self._encoding, "replace"))
        self._last = (position, found)
        return found

    def line_start(self, line: int) -> int:
        """Return the position of a line's first character; lines start at 0."""
        if self._line_starts is None:
            ends = (match.end() for match in re.finditer(r"\r\n|\r|\n", self.text))
            self._line_starts = [0, *ends]
        starts = self._line_starts
        return starts[line] if line < len(starts) else len(self.text)


def _find_encoding(data: bytes, *, declares: bool) -> tuple[str, int]:
    for encoding, mark in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    declared = (
        EncodingDetector.find_declared_encoding(
            data[:_DECLARED_WITHIN], is_html=True, search_entire_document=True
        )
        if declares
        else None
    )
    for name in (declared, "utf-8"):
        if name and _can_decode(data, name):
            return name, 0
    return "cp1252", 0


def _find_declared(head: bytes) -> str | None:
    return EncodingDetector.find_declared_encoding(head, is_html=True, search_entire_document=True)


def _can_decode(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return True
