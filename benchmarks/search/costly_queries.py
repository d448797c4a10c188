"""How much more does the most expensive query of 512 characters cost than an ordinary one?

Ordinary ones are questions of the shop, each asked for the first time. The others are what a stranger sends
to keep the server busy: misspelt, unknown, negated, joined, repeated and foreign words, numbers, measures.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from benchmarks.result import BenchmarkResult
from headwater.rag.evaluation.shop.queries import misspell
from headwater.rag.retrieval.query import SearchQuery
from headwater.rag.retrieval.retriever import Retriever

LONGEST = 512
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EACH = 9


def measure_worst(retriever: Retriever, ordinary: Sequence[str], words: Sequence[str]) -> BenchmarkResult:
    """Milliseconds of CPU: the median of the worst kind against the median ordinary query.

    `words` are those of the catalogue.
    """
    usual = median(time_search(retriever, text) for text in ordinary)
    kinds = {
        kind: median(time_search(retriever, text) for text in texts)
        for kind, texts in build_costly_queries(words, _EACH).items()
    }
    worst = max(kinds, key=lambda kind: kinds[kind])
    return BenchmarkResult("search_worst", kinds[worst], usual, "ms", 6, "lower", note=f"worst kind: {worst}")


def time_search(retriever: Retriever, text: str) -> float:
    """Milliseconds of CPU."""
    started = time.process_time()
    retriever.search(SearchQuery(text, 10))
    return (time.process_time() - started) * 1000


def build_costly_queries(words: Sequence[str], number: int) -> dict[str, list[str]]:
    """Different queries of each kind, the same each time."""
    draw = random.Random(3)
    kinds = _list_kinds(words, draw)
    return {kind: [build()[:LONGEST] for _ in range(number)] for kind, build in kinds.items()}


def _list_kinds(words: Sequence[str], draw: random.Random) -> Mapping[str, Callable[[], str]]:
    def choose() -> str:
        return draw.choice(words)

    def spell(letters: int, alphabet: str = _LETTERS) -> str:
        return "".join(draw.choice(alphabet) for _ in range(letters))

    def mistype() -> str:
        return misspell(choose(), draw)

    han = "".join(map(chr, range(0x4E00, 0x5E00)))
    return {
        "known": lambda: _fill(choose),
        "misspelt": lambda: _fill(mistype),
        "a few misspelt": lambda: " ".join([*(mistype() for _ in range(4)), _fill(choose)]),
        "unknown": lambda: _fill(lambda: spell(6)),
        "short": lambda: _fill(lambda: spell(2)),
        "negated": lambda: _fill(lambda: f"without {choose()}"),
        "joined": lambda: _fill(lambda: spell(3), "-"),
        "numbers": lambda: _fill(lambda: str(draw.randrange(1_000))),
        "measures": lambda: _fill(lambda: f"{draw.randrange(1_000)} mm"),
        "Chinese": lambda: _fill(lambda: spell(1, han)),
        "repeated": lambda: "a " * LONGEST,
        "one word": lambda: spell(LONGEST),
    }


def _fill(build: Callable[[], str], space: str = " ") -> str:
    text = build()
    while len(text) < LONGEST:
        text += space + build()
    return text
