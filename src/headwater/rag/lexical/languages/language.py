"""What headwater knows of a language: closed word classes, which no catalogue extends. No product nouns.

All words are in the form of `analyzer.fold`: lower-case, without accents.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A language.

    `name` is that of its Snowball stemmer. `negators` precede an unwanted thing, after any of the `fillers`;
    `verbal` maps a negator to the words before it with which it negates an action: "does not slip".
    `joiners` continue the unwanted things, except those in `also`. In a title, what follows `relations`
    (regular expressions) is another product that this one is for. In a query, the words after `ends` say what
    the wanted thing is for, of or like.
    """

    name: str
    stop_words: frozenset[str]
    negators: frozenset[str]
    fillers: frozenset[str]
    joiners: frozenset[str]
    relations: tuple[str, ...]
    ends: frozenset[str]
    also: frozenset[str] = frozenset()
    two_word_negators: frozenset[tuple[str, str]] = frozenset()
    verbal: Mapping[str, frozenset[str]] = field(default_factory=dict)
