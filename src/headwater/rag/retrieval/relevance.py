"""Judges whether the results can answer the query at all. Pure.

There is always a nearest row. A query is answered only if the words for the wanted thing occur in the rows
found. "headphones for swimming" asks for headphones, whatever else is for swimming. Calibrated on the judged
queries and on hopeless ones (`evaluation/data/hopeless.txt`), see decision record 0008.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from headwater.rag.lexical.analyzer import Term, analyze
from headwater.rag.lexical.english import STOP_WORDS
from headwater.rag.retrieval.candidates import Candidate

# The words after these say what the thing is for, of or like, not what it is.
_ENDS = frozenset(
    [
        "for",
        "with",
        "without",
        "that",
        "which",
        "who",
        "whose",
        "to",
        "in",
        "on",
        "at",
        "from",
        "of",
        "by",
        "under",
        "below",
        "over",
        "above",
        "less",
        "more",
        "than",
        "not",
        "no",
        "except",
        "excluding",
        "made",
        "as",
        "but",
        "and",
        "or",
        "between",
        "up",
        "max",
        "maximum",
        "min",
        "minimum",
        "where",
        "when",
        "if",
    ]
)
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


class Relevance(NamedTuple):
    """The judgement. `unmatched` are words for the wanted thing that no row has.

    Ignore `unmatched` for an answerable query.
    """

    is_answerable: bool
    unmatched: tuple[str, ...] = ()


def judge_relevance(
    text: str, candidates: Sequence[Candidate], *, partial_similarity: float, full_similarity: float
) -> Relevance:
    """Judge the results for a query's corrected text.

    A thing may have other names. With an unmatched word, the query is answerable if the nearest row has
    `full_similarity`. With `partial_similarity`, the last word for the thing must also be in a row.
    """
    if not candidates:
        return Relevance(False)
    words = list_main_words(text)
    unmatched = tuple(term.word for term in words if not any(_has(one, term.stem) for one in candidates))
    if not unmatched:
        return Relevance(True)
    similarity = max((one.scores[0] or 0.0 for one in candidates), default=0.0)
    named = [term.word for term in words if not term.word[0].isdigit()] or [words[-1].word]
    is_named = named[-1] not in unmatched
    is_answerable = similarity >= (partial_similarity if is_named else full_similarity)
    return Relevance(is_answerable, unmatched)


def list_main_words(text: str) -> list[Term]:
    """Return the words for the wanted thing: up to the first preposition, comma or full stop after one."""
    found: list[Term] = []
    end = 0
    for term in analyze(text):
        if term.joined:
            continue
        if found and (term.word in _ENDS or _BREAK.search(text[end : term.start])):
            break
        end = term.end
        if term.word not in STOP_WORDS and term.word not in _ENDS and term.word not in _PRAISE:
            found.append(term)
    return found


def _has(candidate: Candidate, stem: str) -> bool:
    """True if the stem names what the row is, has or does. A case for headphones is not headphones."""
    words = candidate.passage.words
    return words.text.is_name(stem) or words.text.is_in_body(stem) or stem in words.keyword_stems
