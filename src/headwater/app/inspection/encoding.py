"""Detects the encoding of text files. Pure."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from headwater.app.inspection.sampling import SampledFile

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE)
_ZEROS = 0.2


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a table's files; empty: the default, UTF-8. `check` says what is uncertain."""

    name: str = ""
    check: str = ""


def detect_encoding(files: Sequence[SampledFile]) -> Encoding:
    """Return the encoding that all files have in common, as far as their bytes show it."""
    found = {file.listed.key: _detect(file) for file in files}
    others = {key: name for key, name in found.items() if name}
    if not others:
        return Encoding()
    name = "windows-1252" if "windows-1252" in others.values() else next(iter(others.values()))
    key = next(key for key, one in others.items() if one == name)
    if name.startswith("UTF"):
        return Encoding(name, f"{key} has a zero byte in every second place and no byte order mark.")
    offset = _find_invalid(next(file for file in files if file.listed.key == key))
    check = (
        f"{key} is not UTF-8 (byte {offset}). The bytes do not show which encoding it is. Alternatives: "
        "ISO-8859-1, ISO-8859-15, windows-1250, windows-1251, Shift_JIS."
    )
    is_mixed = any(not one and _has_letters(file) for file, one in zip(files, found.values(), strict=True))
    if is_mixed:
        check += " Other files are UTF-8: give them a table of their own."
    return Encoding(name, check)


def decode(file: SampledFile, encoding: str) -> str:
    """Return the text of a file, with replacement characters; a byte order mark takes precedence."""
    for mark, name in zip(_MARKS, ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le"), strict=True):
        if file.data.startswith(mark):
            return file.data[len(mark) :].decode(name, "replace")
    return file.data.decode(encoding or "utf-8", "replace")


def _detect(file: SampledFile) -> str:
    data = file.data
    if data.startswith(_MARKS) or (_find_invalid(file) < 0 and b"\0" not in data[:1000]):
        return ""
    head = data[:1000]
    if head.count(0) > _ZEROS * len(head):
        return "UTF-16LE" if head[1::2].count(0) > head[::2].count(0) else "UTF-16BE"
    if _find_invalid(file) < 0:
        return ""
    try:
        data.decode("windows-1252")
    except UnicodeDecodeError:
        return "ISO-8859-1"
    return "windows-1252"


def _find_invalid(file: SampledFile) -> int:
    """Return the offset of the first byte that is not UTF-8; -1 without any. A truncated end is allowed."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(file.data, final=file.is_complete)
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _has_letters(file: SampledFile) -> bool:
    return not file.data.isascii() and not file.data.startswith(_MARKS)
