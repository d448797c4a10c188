"""What headwater knows of a language: closed word classes, which no catalogue extends. No product nouns.

All words are in the form of `analyzer.fold`: lower-case, without accents.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A language.

    `name` is that of its Snowball stemmer, `code` that of ISO 639-1. `function_words` are articles, pronouns,
    prepositions and the like. Questions have further ones without a topic, the `question_words`; texts of
    sellers have `prose_words`. `negators` precede an unwanted thing, after any of the `fillers`;
    `verbal` maps a negator to the words before it with which it negates an action: "does not slip".
    `joiners` continue the unwanted things, except those in `also`. In a title, what follows `relations`
    (regular expressions) is another product that this one is for. In a query, the words after `ends` say what
    the wanted thing is for, of or like.
    """

    name: str
    code: str
    function_words: frozenset[str]
    negators: frozenset[str]
    fillers: frozenset[str]
    joiners: frozenset[str]
    relations: tuple[str, ...]
    ends: frozenset[str]
    question_words: frozenset[str] = frozenset()
    prose_words: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    two_word_negators: frozenset[tuple[str, str]] = frozenset()
    verbal: Mapping[str, frozenset[str]] = field(default_factory=dict)
    stop_words: frozenset[str] = field(init=False)
    """The words of a question that say nothing of its topic."""

    def __post_init__(self) -> None:
        # A search reads it for each word.
        object.__setattr__(self, "stop_words", self.function_words | self.question_words)
