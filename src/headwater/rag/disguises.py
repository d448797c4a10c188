"""Reads text as a model may read it: letters in other shapes, spaced, replaced by digits, or encoded.

`list_readings` returns what a disguised text says; `is_disguised` detects words that no description needs.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from headwater.rag.lexical.analyzer import fold

_WORD = re.compile(r"[^\W_]+(?:[-'\u2019][^\W_]+)*")
_SWITCH = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_SPACED = re.compile(r"(?<!\w)(?:[^\W\d_][\s.\-_*/\u00b7]+){3,}[^\W\d_](?!\w)")
_LEET = str.maketrans("013457@$", "oieastas")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_HEX = re.compile(r"(?<!\w)(?:[0-9a-fA-F]{2}[ :]?){6,}(?!\w)")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){2,}")
_MIN_LONG = 14
_MAX_SWITCHES = 3
_MAX_LOWER_SWITCHES = 1


def list_readings(text: str) -> list[str]:
    """Return the text in lower case without accents, and what it says if it is disguised."""
    plain = fold(text)
    readings = [plain]
    if any(character.isdigit() or character in "@$" for character in plain):
        readings.append(_WORD.sub(lambda match: _read_digits(match[0]), plain.replace("@", "a")))
    if _SPACED.search(plain):
        readings.append(_SPACED.sub(lambda match: re.sub(r"[\W_]+", "", match[0]), plain))
    readings += [fold(decoded) for decoded in _iter_decoded(text)]
    return readings


def is_disguised(text: str) -> bool:
    """True if a word of the text is spaced, mixes letters and digits as no model name does, or is encoded."""
    if _SPACED.search(text) or _PERCENT.search(text) or _HEX.search(text) or any(_iter_decoded(text)):
        return True
    return any(map(_is_disguised_word, _WORD.findall(text)))


def _is_disguised_word(word: str) -> bool:
    switches = len(_SWITCH.findall(word))
    if switches > _MAX_SWITCHES or (switches > _MAX_LOWER_SWITCHES and word.islower()):
        return True
    # Encoded words change their case, as no long word of a language does.
    is_mixed = re.search(r"[a-z][A-Z]", word) is not None and re.search(r"[A-Z]{2}|\d", word) is not None
    return len(word) >= _MIN_LONG and is_mixed and "-" not in word


def _read_digits(word: str) -> str:
    # Two characters are a size or a model: K1, 4K.
    return word.translate(_LEET) if _SWITCH.search(word) and len(word) > 2 else word


def _iter_decoded(text: str) -> Iterator[str]:
    """Yield texts that the text holds in an encoding, if they are words."""
    for match in _BASE64.findall(text):
        padded = match.rstrip("=") + "=" * (-len(match.rstrip("=")) % 4)
        try:
            decoded = base64.b64decode(padded, altchars=b"-_" if re.search("[-_]", match) else None)
        except (binascii.Error, ValueError):
            continue
        yield from _iter_words(decoded)
    for match in _HEX.findall(text):
        yield from _iter_words(bytes.fromhex(re.sub(r"[ :]", "", match)))
    if _PERCENT.search(text):
        yield unquote(text, errors="ignore")


def _iter_words(decoded: bytes) -> Iterator[str]:
    try:
        text = decoded.decode("utf-8")
    except UnicodeDecodeError:
        return
    # Words of a language decode to random letters, which are rarely all ASCII.
    if len(text) >= 4 and text.isascii() and all(unicodedata.category(one)[0] in "LNPZ" for one in text):
        yield text
