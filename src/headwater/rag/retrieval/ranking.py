"""Candidates in their order, by what can be seen of them. Pure.

Every feature is between -1 and 1 before its weight, so that a weight says how much it can do.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from headwater.rag.retrieval.candidates import Candidate, affirms
from headwater.rag.retrieval.understanding import Understanding
from headwater.rag.vector_stores.protocol import FieldValue

DENSE, WORDS = 0, 1
"""Places of the legs in `Candidate.scores`."""

# Names that shops give to a price, alone or as part of a longer name: sale_price, priceEur.
_PRICE_NAME = re.compile(r"(?:^|_)(?:price|cost|amount|eur|usd|gbp)(?:_|$)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PRICE_TEXT = re.compile(r"^\D{0,4}(\d+(?:\.\d+)?)\D{0,4}$")


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature counts. Chosen on tuning queries of two unlike shops; around them the figures are
    flat: docs/decisions."""

    words: float = 0.7
    dense: float = 0.4
    name: float = 0.5
    related: float = -0.8
    body: float = 0.15
    keywords: float = 0.6
    complete: float = 0.3
    attributes: float = 0.1
    unwanted: float = -0.8
    price: float = -1.0
    cheap: float = 0.15


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate and its score."""

    candidate: Candidate
    score: float


@dataclass(frozen=True, slots=True)
class _Scene:
    """What all candidates together tell of the query's words.

    `rarity` is each stem's IDF among them. `attributes` are the fields in which a stem is a value somewhere:
    there, a row with another value contradicts it. `unwanted` pairs groups with such fields.
    """

    rarity: Mapping[str, float]
    attributes: Mapping[str, frozenset[str]]
    unwanted: Sequence[tuple[tuple[str, ...], frozenset[str]]]
    prices: Sequence[float]
    lows: tuple[float, float]
    spans: tuple[float, float]


def rank(
    candidates: Sequence[Candidate],
    stems: Sequence[str],
    understanding: Understanding,
    weights: Weights = Weights(),
) -> list[Ranked]:
    """Best first; equal scores in the order of row keys. `stems` are the wanted ones, corrected."""
    if not candidates:
        return []
    scene = _look_around(candidates, list(dict.fromkeys(stems)), understanding)
    ranked = [Ranked(candidate, _score(candidate, scene, understanding, weights)) for candidate in candidates]
    # Rounded: the last bits of a sum must not decide between equals.
    return sorted(ranked, key=lambda one: (-round(one.score, 9), one.candidate.hit.row_key))


def read_price(fields: Mapping[str, FieldValue]) -> float | None:
    """The first number among the fields that is called a price."""
    for name, value in fields.items():
        if _is_price(name):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value)
            match = _PRICE_TEXT.match(value) if isinstance(value, str) else None
            if match is not None:
                return float(match.group(1))
    return None


@lru_cache(maxsize=1_024)
def _is_price(name: str) -> bool:
    return _PRICE_NAME.search(_CAMEL.sub("_", name).lower()) is not None


def _look_around(
    candidates: Sequence[Candidate], stems: Sequence[str], understanding: Understanding
) -> _Scene:
    size = len(candidates)
    values: dict[str, set[str]] = {}
    for candidate in candidates:
        for name, keywords in candidate.keywords.items():
            values.setdefault(name, set()).update(keywords)
    rarity: dict[str, float] = {}
    for stem in stems:
        count = sum(one.has(stem) for one in candidates)
        if count:
            rarity[stem] = math.log1p((size - count + 0.5) / (count + 0.5))
    prices: list[float] = []
    if understanding.direction:
        prices = [price for one in candidates if (price := read_price(one.hit.fields)) is not None]
    dense, words = (_list_scores(candidates, leg) for leg in (DENSE, WORDS))
    return _Scene(
        rarity,
        {stem: frozenset(name for name, known in values.items() if stem in known) for stem in rarity},
        [
            (group, frozenset(name for name, known in values.items() if known.issuperset(group)))
            for group in understanding.unwanted
        ],
        sorted(prices),
        (min(dense, default=0.0), 0.0),
        (max(dense, default=1.0) - min(dense, default=0.0), max(words, default=1.0)),
    )


def _list_scores(candidates: Sequence[Candidate], leg: int) -> list[float]:
    return [score for one in candidates if (score := one.scores[leg]) is not None]


def _score(candidate: Candidate, scene: _Scene, understanding: Understanding, weights: Weights) -> float:
    score = (
        weights.dense * _stretch(candidate, DENSE, scene)
        + weights.words * _stretch(candidate, WORDS, scene)
        + _score_terms(candidate, scene, weights)
    )
    if scene.unwanted:
        score += weights.unwanted * _measure_unwanted(candidate, scene)
    if understanding.asks_price:
        score += _score_price(candidate, scene, understanding, weights)
    return score


def _stretch(candidate: Candidate, leg: int, scene: _Scene) -> float:
    """A leg's score between 0 (as the worst, or not found) and 1 (as the best)."""
    score = candidate.scores[leg]
    return 0.0 if score is None or scene.spans[leg] <= 0 else (score - scene.lows[leg]) / scene.spans[leg]


def _score_terms(candidate: Candidate, scene: _Scene, weights: Weights) -> float:
    """Where the wanted words stand, the rarer ones counting more."""
    if not scene.rarity:
        return 0.0
    text, total = candidate.text, sum(scene.rarity.values())
    fields = candidate.keywords
    where = seen = agreed = 0.0
    for stem, rarity in scene.rarity.items():
        named, in_body = stem in text.name, stem in text.body
        attributes = scene.attributes[stem]
        has_value = bool(attributes) and any(stem in fields.get(name, ()) for name in attributes)
        where += rarity * (
            weights.name * named
            + weights.related * (stem in text.related and not named)
            + weights.body * in_body
            + weights.keywords * has_value
        )
        seen += named or in_body or has_value
        if has_value:
            agreed += 1
        elif attributes and not named and any(name in fields for name in attributes):
            agreed -= 1
    return where / total + weights.complete * seen / len(scene.rarity) + weights.attributes * agreed


def _measure_unwanted(candidate: Candidate, scene: _Scene) -> float:
    """1 for each group that the row has; less than 0 when it says that it has it not."""
    measured = 0.0
    for group, names in scene.unwanted:
        if any(words.issuperset(group) for words in candidate.keywords.values()):
            measured += 1
        elif any(name in candidate.keywords for name in names):
            # The field that would say so says otherwise: "also in red" does not make a thing red.
            continue
        elif candidate.text.stems.issuperset(group):
            measured += 1 if all(affirms(candidate.hit.text, stem) for stem in group) else -0.5
    return measured


def _score_price(
    candidate: Candidate, scene: _Scene, understanding: Understanding, weights: Weights
) -> float:
    price = read_price(candidate.hit.fields)
    if price is None:
        return 0.0
    score = 0.0
    too_dear = understanding.highest is not None and price > understanding.highest
    if too_dear or (understanding.lowest is not None and price < understanding.lowest):
        score += weights.price
    if understanding.direction:
        place = 2 * bisect_left(scene.prices, price) / len(scene.prices) - 1
        score += weights.cheap * understanding.direction * place
    return score
