"""Ranks candidates by their features. Pure.

Every feature is between -1 and 1 before its weight, so a weight is the feature's maximum effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.rag.passage import PassageWords
from headwater.rag.retrieval.candidates import Candidate
from headwater.rag.retrieval.understanding import Understanding

DENSE, WORDS = 0, 1
"""Indexes of the legs in `Candidate.scores`."""

_Flags = npt.NDArray[np.bool_]
_Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each feature. Tuned on queries of two different shops; results are flat around these
    values: docs/decisions."""

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


class Ranked(NamedTuple):
    """A candidate and its score."""

    candidate: Candidate
    score: float


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """The parts of the candidates in which the wanted stems occur: a row per stem, a column per candidate.

    `contradicted`: the stem is a field value of some other candidate, and this one's field has another value.
    """

    name: _Flags
    related: _Flags
    body: _Flags
    value: _Flags
    contradicted: _Flags


def rank(
    candidates: Sequence[Candidate],
    stems: Sequence[str],
    understanding: Understanding,
    weights: Weights = Weights(),
    count: int | None = None,
) -> list[Ranked]:
    """Return the best `count` (None: all), best first; equal scores in the order of row keys.

    `stems` are the wanted ones, corrected.
    """
    if not candidates:
        return []
    scores = (
        weights.dense * _stretch(_list_scores(candidates, DENSE), from_zero=False)
        + weights.words * _stretch(_list_scores(candidates, WORDS), from_zero=True)
        + _score_terms(_find_occurrences(candidates, list(dict.fromkeys(stems))), weights)
    )
    if understanding.unwanted:
        scores += weights.unwanted * _measure_unwanted(candidates, understanding.unwanted)
    if understanding.asks_price:
        scores += _score_prices(candidates, understanding, weights)
    # Rounded: the last bits of a sum must not decide ties.
    rounded = np.round(scores, 9)
    values = rounded.tolist()
    order = sorted((-values[at], candidates[at].passage.row_key, at) for at in _list_best(rounded, count))
    return [Ranked(candidates[at], -negative) for negative, _, at in order[:count]]


def _list_best(scores: _Numbers, count: int | None) -> Sequence[int]:
    """Return the indexes of the highest `count` scores and their ties with the last one, unordered."""
    if count is None or count >= len(scores):
        return range(len(scores))
    lowest = np.partition(scores, -count)[-count] if count else np.inf
    best: list[int] = np.flatnonzero(scores >= lowest).tolist()
    return best


def _list_scores(candidates: Sequence[Candidate], leg: int) -> _Numbers:
    """Return the leg's scores; NaN where it has not found the row."""
    return np.array([one.scores[leg] for one in candidates], dtype=np.float64)


def _stretch(scores: _Numbers, *, from_zero: bool) -> _Numbers:
    """Scale a leg's scores to 0 (the worst, or not found) up to 1 (the best)."""
    found = ~np.isnan(scores)
    if not found.any():
        return np.zeros(len(scores))
    low = 0.0 if from_zero else scores[found].min()
    span = scores[found].max() - low
    return np.where(found, (scores - low) / span, 0.0) if span > 0 else np.zeros(len(scores))


def _find_occurrences(candidates: Sequence[Candidate], stems: Sequence[str]) -> _Occurrences:
    words = [one.passage.words for one in candidates]
    texts = [one.text for one in words]
    values = [one.keyword_stems for one in words]
    fields = [one.keywords for one in words]
    spaced = [f" {stem} " for stem in stems]
    value = _to_flags([[stem in own for own in values] for stem in stems], len(candidates))
    contradicted = np.zeros_like(value)
    for at, stem in enumerate(stems):
        holders = {
            name
            for number in np.flatnonzero(value[at])
            for name, keywords in fields[number].items()
            if stem in keywords
        }
        if holders:
            contradicted[at] = [not holders.isdisjoint(own) for own in fields]
    return _Occurrences(
        _to_flags([[stem in text.name for text in texts] for stem in spaced], len(candidates)),
        _to_flags([[stem in text.related for text in texts] for stem in spaced], len(candidates)),
        _to_flags([[stem in text.body for text in texts] for stem in spaced], len(candidates)),
        value,
        contradicted & ~value,
    )


def _to_flags(rows: Sequence[Sequence[bool]], width: int) -> _Flags:
    return np.array(rows, dtype=np.bool_).reshape(len(rows), width)


def _score_terms(occurrences: _Occurrences, weights: Weights) -> _Numbers:
    """Score where the wanted words occur; words rare among the candidates count more."""
    counts = (occurrences.name | occurrences.related | occurrences.body | occurrences.value).sum(axis=1)
    size = occurrences.name.shape[1]
    known = counts > 0
    if not known.any():
        return np.zeros(size)
    rarity = np.log1p((size - counts[known] + 0.5) / (counts[known] + 0.5))
    name, related, body, value = (
        flags[known] for flags in (occurrences.name, occurrences.related, occurrences.body, occurrences.value)
    )
    where = rarity @ (
        weights.name * name
        + weights.related * (related & ~name)
        + weights.body * body
        + weights.keywords * value
    )
    seen = (name | body | value).sum(axis=0)
    agreed = value.sum(axis=0) - (occurrences.contradicted[known] & ~name).sum(axis=0)
    scores: _Numbers = (
        where / rarity.sum() + weights.complete * seen / len(rarity) + weights.attributes * agreed
    )
    return scores


def _measure_unwanted(candidates: Sequence[Candidate], groups: Sequence[tuple[str, ...]]) -> _Numbers:
    """Return 1 for each group that a row has; less than 0 when it denies having it."""
    measured = np.zeros(len(candidates))
    words = [one.passage.words for one in candidates]
    for group in groups:
        holders = [_list_fields(one, group) for one in words]
        names = {name for own in holders for name in own}
        for at, (candidate, own) in enumerate(zip(candidates, holders, strict=True)):
            if own:
                measured[at] += 1
            elif not names.isdisjoint(words[at].keywords):
                # The relevant field has another value: "also in red" does not make a product red.
                continue
            elif all(map(candidate.has, group)):
                measured[at] += 1 if all(map(candidate.affirms, group)) else -0.5
    return measured


def _list_fields(words: PassageWords, group: tuple[str, ...]) -> list[str]:
    """Return the fields that have all of the group as a value."""
    if not words.keyword_stems.issuperset(group):
        return []
    return [name for name, keywords in words.keywords.items() if keywords.issuperset(group)]


def _score_prices(
    candidates: Sequence[Candidate], understanding: Understanding, weights: Weights
) -> _Numbers:
    prices = np.array([one.passage.words.price for one in candidates], dtype=np.float64)
    scores = np.zeros(len(candidates))
    for limit, is_beyond in ((understanding.highest, np.greater), (understanding.lowest, np.less)):
        if limit is not None:
            # NaN is never beyond a limit.
            scores[is_beyond(prices, limit)] = weights.price
    priced = ~np.isnan(prices)
    if understanding.direction and priced.any():
        ranks = np.searchsorted(np.sort(prices[priced]), prices[priced]) * 2 / priced.sum() - 1
        scores[priced] += weights.cheap * understanding.direction * ranks
    return scores
