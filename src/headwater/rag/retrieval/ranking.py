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

_MIN_PART = 4
"""Letters of a stem that may be part of a longer word."""

_Flags = npt.NDArray[np.bool_]
_Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each feature. Chosen so that shops which were left out gain: decision record 0047.

    `words` and `dense` are the legs' scores. Of the wanted words, weighted by rarity: `name` is in the title,
    `part` is in a longer word of it ("Tasche" in "Umhängetasche"), `related` names what an accessory is for;
    `complete` is the share that the row has anywhere. `attributes` counts fields that have the word, less
    those that have another value. `unwanted` counts negated things that the row has, `price` is beyond a
    limit, and `cheap` follows the direction of the price.
    """

    words: float = 0.4
    dense: float = 0.5
    name: float = 0.7
    part: float = 0.6
    related: float = -1.0
    complete: float = 0.9
    attributes: float = 0.1
    unwanted: float = -1.3
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
    part: _Flags
    related: _Flags
    body: _Flags
    value: _Flags
    contradicted: _Flags


def rank(
    candidates: Sequence[Candidate],
    stems: Sequence[tuple[str, ...]],
    understanding: Understanding,
    weights: Weights = Weights(),
    count: int | None = None,
) -> list[Ranked]:
    """Return the best `count` (None: all), best first; equal scores in the order of row keys.

    `stems` are the forms of each wanted word, corrected; one of them is enough.
    """
    if not candidates:
        return []
    measured = measure(candidates, stems, understanding)
    scores = np.sum([getattr(weights, name) * values for name, values in measured.items()], axis=0)
    # Rounded: the last bits of a sum must not decide ties.
    rounded = np.round(scores, 9)
    values = rounded.tolist()
    order = sorted((-values[at], candidates[at].passage.row_key, at) for at in _list_best(rounded, count))
    return [Ranked(candidates[at], -negative) for negative, _, at in order[:count]]


def measure(
    candidates: Sequence[Candidate], stems: Sequence[tuple[str, ...]], understanding: Understanding
) -> dict[str, _Numbers]:
    """Return the features of at least one candidate by the name of their weight; those that cannot differ are
    left out."""
    measured = {
        "words": _stretch(_list_scores(candidates, WORDS), from_zero=True),
        "dense": _stretch(_list_scores(candidates, DENSE), from_zero=False),
        **_measure_terms(_find_occurrences(candidates, list(dict.fromkeys(stems)))),
    }
    if understanding.unwanted:
        measured["unwanted"] = _measure_unwanted(candidates, understanding.unwanted)
    if understanding.asks_price:
        measured |= _measure_prices(candidates, understanding)
    return measured


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


def _find_occurrences(candidates: Sequence[Candidate], stems: Sequence[tuple[str, ...]]) -> _Occurrences:
    words = [one.passage.words for one in candidates]
    texts = [one.text for one in words]
    values = [one.keyword_stems for one in words]
    fields = [one.keywords for one in words]
    spaced = [[f" {stem} " for stem in forms] for forms in stems]
    long = [[stem for stem in forms if len(stem) >= _MIN_PART and stem.isalpha()] for forms in stems]
    names, related, bodies = ([getattr(text, part) for text in texts] for part in ("name", "related", "body"))
    value = _to_flags([[not own.isdisjoint(forms) for own in values] for forms in stems], len(candidates))
    contradicted = np.zeros_like(value)
    for at, forms in enumerate(stems):
        holders = {
            name
            for number in np.flatnonzero(value[at])
            for name, keywords in fields[number].items()
            if not keywords.isdisjoint(forms)
        }
        if holders:
            contradicted[at] = [not holders.isdisjoint(own) for own in fields]
    return _Occurrences(
        _to_flags([_list_holders(forms, names) for forms in spaced], len(candidates)),
        _to_flags([_list_holders(forms, names) for forms in long], len(candidates)),
        _to_flags([_list_holders(forms, related) for forms in spaced], len(candidates)),
        _to_flags([_list_holders(forms, bodies) for forms in spaced], len(candidates)),
        value,
        contradicted & ~value,
    )


def _list_holders(forms: Sequence[str], texts: Sequence[str]) -> list[bool]:
    """Return for each text whether one of the forms is in it."""
    if len(forms) == 1:
        return [forms[0] in text for text in texts]
    return [any(form in text for form in forms) for text in texts]


def _to_flags(rows: Sequence[Sequence[bool]], width: int) -> _Flags:
    return np.array(rows, dtype=np.bool_).reshape(len(rows), width)


def _measure_terms(occurrences: _Occurrences) -> dict[str, _Numbers]:
    """Measure where the wanted words occur; words rare among the candidates count more."""
    here = occurrences.name | occurrences.body | occurrences.value
    counts = (here | occurrences.related | occurrences.part).sum(axis=1)
    size = occurrences.name.shape[1]
    known = counts > 0
    if not known.any():
        return {}
    rarity = np.log1p((size - counts[known] + 0.5) / (counts[known] + 0.5))
    rarity /= rarity.sum()
    name = occurrences.name[known]
    agreed = occurrences.value[known].sum(axis=0) - (occurrences.contradicted[known] & ~name).sum(axis=0)
    return {
        "name": rarity @ name,
        "part": rarity @ (occurrences.part[known] & ~name),
        "related": rarity @ (occurrences.related[known] & ~name),
        "complete": here[known].sum(axis=0) / len(rarity),
        "attributes": agreed.astype(np.float64),
    }


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


def _measure_prices(candidates: Sequence[Candidate], understanding: Understanding) -> dict[str, _Numbers]:
    prices = np.array([one.passage.words.price for one in candidates], dtype=np.float64)
    # NaN is never beyond a limit.
    beyond = np.zeros(len(candidates), dtype=np.bool_)
    if understanding.highest is not None:
        beyond |= prices > understanding.highest
    if understanding.lowest is not None:
        beyond |= prices < understanding.lowest
    cheap = np.zeros(len(candidates))
    priced = ~np.isnan(prices)
    if understanding.direction and priced.any():
        ranks = np.searchsorted(np.sort(prices[priced]), prices[priced]) * 2 / priced.sum() - 1
        cheap[priced] = understanding.direction * ranks
    return {"price": beyond.astype(np.float64), "cheap": cheap}
