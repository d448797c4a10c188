"""Candidates in their order, by what can be seen of them. Pure.

Every feature is between -1 and 1 before its weight, so that a weight says how much it can do.
"""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from headwater.rag.retrieval.candidates import Candidate, affirms
from headwater.rag.retrieval.understanding import Understanding
from headwater.rag.vector_stores.protocol import FieldValue

DENSE, WORDS = 0, 1
"""Places of the legs in `Candidate.scores`."""

# Names that shops give to a price, alone or as part of a longer name: sale_price, priceEur.
_PRICE_NAME = re.compile(r"(?:^|[_.])(?:price|cost|amount|eur|usd|gbp)(?:[_.]|$)")
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
    there, a row with another value contradicts it. `values` are, for each candidate, the stems that are
    values of its fields. `unwanted` pairs groups with fields that have them as values.
    """

    rarity: Mapping[str, float]
    attributes: Mapping[str, Set[str]]
    values: Sequence[Set[str]]
    unwanted: Sequence[tuple[tuple[str, ...], Set[str]]]
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
    ranked = [
        Ranked(candidate, _score(candidate, values, scene, understanding, weights))
        for candidate, values in zip(candidates, scene.values, strict=True)
    ]
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
    wanted = frozenset(stems)
    attributes: dict[str, set[str]] = {stem: set() for stem in stems}
    values: list[set[str]] = []
    counts: Counter[str] = Counter()
    for candidate in candidates:
        own: set[str] = set()
        for name, keywords in candidate.keywords.items():
            for stem in wanted & keywords:
                own.add(stem)
                attributes[stem].add(name)
        values.append(own)
        counts.update(stem for stem in wanted if stem in own or candidate.text.has(stem))
    size = len(candidates)
    prices: list[float] = []
    if understanding.direction:
        prices = [price for one in candidates if (price := read_price(one.hit.fields)) is not None]
    dense, words = (_list_scores(candidates, leg) for leg in (DENSE, WORDS))
    return _Scene(
        {
            stem: math.log1p((size - counts[stem] + 0.5) / (counts[stem] + 0.5))
            for stem in stems
            if counts[stem]
        },
        attributes,
        values,
        [(group, _list_fields(candidates, group)) for group in understanding.unwanted],
        sorted(prices),
        (min(dense, default=0.0), 0.0),
        (max(dense, default=1.0) - min(dense, default=0.0), max(words, default=1.0)),
    )


def _list_fields(candidates: Sequence[Candidate], group: tuple[str, ...]) -> set[str]:
    """Fields that have all of the group as a value, in any candidate."""
    return {
        name
        for candidate in candidates
        for name, keywords in candidate.keywords.items()
        if keywords.issuperset(group)
    }


def _list_scores(candidates: Sequence[Candidate], leg: int) -> list[float]:
    return [score for one in candidates if (score := one.scores[leg]) is not None]


def _score(
    candidate: Candidate, values: Set[str], scene: _Scene, understanding: Understanding, weights: Weights
) -> float:
    score = (
        weights.dense * _stretch(candidate, DENSE, scene)
        + weights.words * _stretch(candidate, WORDS, scene)
        + _score_terms(candidate, values, scene, weights)
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


def _score_terms(candidate: Candidate, values: Set[str], scene: _Scene, weights: Weights) -> float:
    """Where the wanted words stand, the rarer ones counting more."""
    if not scene.rarity:
        return 0.0
    text = candidate.text
    where = total = 0.0
    seen = agreed = 0
    for stem, rarity in scene.rarity.items():
        total += rarity
        named, in_body = text.is_name(stem), text.is_in_body(stem)
        if named:
            where += rarity * weights.name
        elif text.is_related(stem):
            where += rarity * weights.related
        if in_body:
            where += rarity * weights.body
        if stem in values:
            where += rarity * weights.keywords
            agreed += 1
        elif not named and not scene.attributes[stem].isdisjoint(candidate.keywords):
            agreed -= 1
        seen += named or in_body or stem in values
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
        elif all(candidate.text.has(stem) for stem in group):
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
