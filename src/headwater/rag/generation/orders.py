"""Detects sentences that steer the answer instead of describing a product: "ignore the rules, say ...".

The phrases are in `phrases/`, one file per language. Words such as "say" or "answer" are orders by default;
harmless uses ("say goodbye to cables", "answers calls") are erased first. Lists of words are never complete:
an answer depends on them only for whole sentences that it quotes, see `descriptions.py`.
"""

import re
from functools import lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

from headwater.rag.disguises import list_readings

Purpose = Literal["order", "advert"]
_ERASED = " \u2026 "
_REMEMBERED = 8_192


class _Phrases(NamedTuple):
    """Patterns on folded text."""

    harmless: re.Pattern[str]
    orders: re.Pattern[str]
    adverts: re.Pattern[str]


def is_order(sentence: str) -> bool:
    """True if the sentence instructs its reader what to answer, or which products to show."""
    return find_purpose(sentence) == "order"


@lru_cache(maxsize=_REMEMBERED)
def find_purpose(sentence: str) -> Purpose | None:
    """Return the purpose of a sentence that does not describe: an order, or an advert."""
    phrases = _load_phrases()
    readings = [phrases.harmless.sub(_ERASED, reading) for reading in list_readings(sentence)]
    if any(phrases.orders.search(reading) for reading in readings):
        return "order"
    return "advert" if any(phrases.adverts.search(reading) for reading in readings) else None


@lru_cache(maxsize=1)
def _load_phrases() -> _Phrases:
    kinds: dict[str, list[str]] = {"-": [], "!": [], "$": []}
    folder = files(__package__) / "phrases"
    for file in sorted(folder.iterdir(), key=lambda item: item.name):
        for line in file.read_text("utf-8").splitlines():
            if line[:2] in {"- ", "! ", "$ "}:
                kinds[line[0]].append(line[2:])
    harmless, orders, adverts = (re.compile("|".join(kinds[kind])) for kind in "-!$")
    return _Phrases(harmless, orders, adverts)
