"""Judges whether the results can answer the query at all. Pure.

There is always a nearest row. Whether it is an answer follows from how near it is, and how much nearer than
the others; from how many of the wanted words it has; and from whether the words for the wanted thing itself
are in any row: "headphones for swimming" asks for headphones, whatever else is for swimming. The weights are
those of a logistic regression on judged and on hopeless queries of eight shops: decision record 0047.
"""

import math
import re
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from headwater.rag.lexical.analyzer import Term, analyze, detect_language
from headwater.rag.retrieval.candidates import AllStems, Candidate, widen
from headwater.rag.retrieval.understanding import MAX_WORDS, add_stems_if_few

# Buyers' praise of what they want, which few sellers use.
_PRAISE = frozenset(
    [
        "good",
        "great",
        "best",
        "better",
        "nice",
        "nicest",
        "perfect",
        "ideal",
        "top",
        "cool",
        "awesome",
        "amazing",
        "beautiful",
        "pretty",
        "cute",
        "lovely",
        "stylish",
        "elegant",
        "modern",
        "popular",
        "favourite",
        "favorite",
        "decent",
        "reliable",
        "durable",
        "sturdy",
        "solid",
        "robust",
        "strong",
        "quality",
        "comfortable",
        "comfy",
        "cheap",
        "cheapest",
        "affordable",
        "inexpensive",
        "expensive",
        "premium",
        "luxury",
        "budget",
        "value",
        "new",
        "newest",
        "latest",
        "useful",
        "practical",
        "handy",
        "simple",
        "easy",
        "small",
        "big",
        "large",
        "tiny",
        "help",
        "helps",
        "recommend",
        "recommendation",
        "recommendations",
        "suggest",
        "suggestion",
        "suggestions",
        "product",
        "products",
        "item",
        "items",
        "thing",
        "things",
        "stuff",
        "kind",
        "kinds",
        "sort",
        "type",
        "types",
    ]
)
_BREAK = re.compile(r"[,.;:!?()\u2013\u2014]\s|[,.;:!?]$")


# Evidence of: the nearest row's similarity, its lead over the median row, the share of wanted words in the
# best row, the share of the thing's words in its title, each wanted word, a thing whose words are all found.
_NEAR, _NEARER, _COVERED, _NAMED, _LONG, _FOUND, _BASE = 5.5, 5.0, 4.5, 1.8, 0.9, 2.5, -7.0
_MOST_TERMS = 4
"""Further words of a query are no sign of a buyer."""


class Relevance(NamedTuple):
    """The judgement. `confidence` is from 0 to 1; `unmatched` are words for the wanted thing that no row has.

    Ignore `unmatched` for an answerable query.
    """

    confidence: float
    unmatched: tuple[str, ...] = ()


def judge_relevance(
    text: str, wanted: Sequence[Term], candidates: Sequence[Candidate], top: Candidate | None
) -> Relevance:
    """Judge the results for a query's corrected text and its wanted terms; `top` is the best row."""
    if top is None:
        return Relevance(0.0)
    terms = [term for term in wanted if not term.joined] or list(wanted)
    things = list_main_words(text)
    everything = AllStems(candidates)
    unmatched = tuple(
        term.word for term in things if not (_has_part(top, term) or everything.has_part(term.stems))
    )
    near = [score for one in candidates if (score := one.scores[0]) is not None] or [0.0]
    named = [top.passage.words.text.is_name(stem) for term in things for stem in term.stems[:1]]
    evidence = (
        _BASE
        + _NEAR * max(near)
        + _NEARER * (max(near) - median(near))
        + _COVERED * _share([_has_part(top, term) for term in terms])
        + _NAMED * _share(named)
        + _LONG * min(len(terms), _MOST_TERMS)
        + _FOUND * bool(things and not unmatched)
    )
    return Relevance(1 / (1 + math.exp(-evidence)), unmatched)


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0


def list_main_words(text: str) -> list[Term]:
    """Return the words for the wanted thing: up to the first preposition, comma or full stop after one."""
    found: list[Term] = []
    end = 0
    language = detect_language(text)
    for term in analyze(text, language):
        if term.joined:
            continue
        has_ended = found and (term.word in language.ends or _BREAK.search(text[end : term.start]))
        if has_ended or len(found) == MAX_WORDS:
            break
        end = term.end
        closed = (language.stop_words, language.ends, _PRAISE)
        if not any(term.word in words for words in closed):
            found.append(term)
    return list(add_stems_if_few(found))


def _has_part(candidate: Candidate, term: Term) -> bool:
    """True if the term names what the row is, has or does, or is part of a longer word there.

    A case for headphones is not headphones.
    """
    words = candidate.passage.words
    return any(
        stem in words.keyword_stems or (sought := widen(stem)) in words.text.name or sought in words.text.body
        for stem in term.stems
    )
