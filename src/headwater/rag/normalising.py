"""Normalises text for models and the analyzer: texts that look the same get one spelling. Pure."""

import re
import unicodedata

NORMALISER_VERSION = "1"
"""Part of an embedder's name: change it with `normalise`."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_LATIN = re.compile(r"[A-Za-z]")
# Non-Latin letters that look like Latin ones; mapped only in a word with Latin letters.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u04bb\u0455\u0501"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
    "\u03bf\u03b1\u03b9\u03bd\u03c1\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u0396",
    "aeopcyxijhsdABEKMHOPCTXIJSoaivpABEHIKMNOPTXZ",
)
_OTHER_SCRIPT = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
# Invisible: control, formatting (zero width, direction, tags), private, unassigned, surrogates.
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cn", "Cs"})


def normalise(text: str) -> str:
    """Compose compatible characters (NFKC), remove invisible ones, and map look-alikes of Latin letters.

    Line breaks and tabs become spaces; never raises.
    """
    if text.isascii():
        return _CONTROL.sub(" ", text).replace("\n", " ").replace("\t", " ")
    composed = unicodedata.normalize("NFKC", text)
    if not composed.isprintable():
        composed = "".join(map(_clean_character, composed))
    return replace_lookalikes(composed)


def replace_lookalikes(text: str) -> str:
    """Return the text with look-alikes from other scripts replaced by Latin letters.

    Only in words that have Latin letters: others are words of another language.
    """
    return " ".join(map(_make_latin, text.split(" "))) if _OTHER_SCRIPT.search(text) else text


def _clean_character(char: str) -> str:
    category = unicodedata.category(char)
    if char.isspace() or category in ("Zl", "Zp"):
        return " "
    # A control character separates words; a formatting one occurs inside them.
    return ("" if category != "Cc" else " ") if category in _UNSEEN else char


def _make_latin(word: str) -> str:
    return word.translate(_LOOKALIKES) if _LATIN.search(word) else word
