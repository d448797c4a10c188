"""Converts text to terms, which the lexical leg compares. Pure; never raises.

`ANALYZER_VERSION` is part of an index's fingerprint: change it with anything that changes terms.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import snowballstemmer

from headwater.rag.lexical.languages import ENGLISH, LANGUAGES, Language, detect, get_language
from headwater.rag.lexical.languages.english import IRREGULAR
from headwater.rag.lexical.units import is_unit, write_measure
from headwater.rag.normalising import normalise, replace_lookalikes

ANALYZER_VERSION = "4"

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_THOUSANDS = re.compile(r"^\d{1,3}(?:,\d{3})+$")
_MAX_WORD = 64
# "wh-1000xm4": letters and digits without a space; longer ones are lists, not names.
_MAX_JOINED_PARTS = 5
_APOSTROPHES = frozenset("'\u2019\u00b4`")

_stemmers = {language.name: snowballstemmer.stemmer(language.name) for language in LANGUAGES}
_stemmer_lock = threading.Lock()


_Token = tuple[str, int, int]
"""Folded text, start and end."""


class Term(NamedTuple):
    """`word` is the lower-case text without accents, `stem` the form that is compared.

    A joined term occurs alongside its parts: "10mm" with "10", "tshirt" with "t" and "shirt". `others` are
    the stems in the other languages, which only terms of a query have.
    """

    word: str
    stem: str
    start: int
    end: int
    joined: bool = False
    others: tuple[str, ...] = ()

    @property
    def stems(self) -> tuple[str, ...]:
        """Return all forms under which a row may have the word."""
        return (self.stem, *self.others)


def fold(text: str) -> str:
    """Normalise, lower-case, and remove accents."""
    folded = normalise(text).lower()
    if folded.isascii():
        return folded
    # `casefold` maps the German sharp s to ss; then remove accents.
    parts = unicodedata.normalize("NFKD", folded.casefold())
    bare = "".join(char for char in parts if not unicodedata.combining(char))
    # Without its accent a letter may look like a Latin one.
    return replace_lookalikes(bare)


@lru_cache(maxsize=256)
def detect_language(text: str) -> Language:
    """Return the language of a text. An index asks twice for each text."""
    return detect(list_words(text))


def analyze(text: str, language: Language | None = None) -> list[Term]:
    """Return all terms of a text in order, including stop words; without a `language`, in its own.

    Positions refer to `fold(text)`.
    """
    tokens, folded = _tokenize(text)
    name = (language or detect(token for token, _, _ in tokens)).name
    terms: list[Term] = []
    for run in _iter_runs(tokens, folded):
        _add_run(run, terms, name)
    return terms


def _tokenize(text: str) -> tuple[list[_Token], str]:
    folded = fold(text)
    found = [(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(folded)]
    return [token for token in found if len(token[0]) <= _MAX_WORD], folded


def _iter_runs(tokens: Iterable[_Token], folded: str) -> Iterator[list[_Token]]:
    """Yield the tokens between spaces: those of "wh-1000xm4" together."""
    run: list[_Token] = []
    for token in tokens:
        if run:
            gap = folded[run[-1][2] : token[1]]
            if gap in _APOSTROPHES and len(token[0]) <= 2:
                # "chef's", "don't": the ending carries no meaning.
                continue
            if gap not in ("", "-") and not _is_measure(run, token, gap):
                yield run
                run = []
        run.append(token)
    if run:
        yield run


def list_words(text: str) -> list[str]:
    """Return folded words and numbers in order; cheaper than `analyze`."""
    return _TOKEN.findall(fold(text))


def list_stems(text: str, language: Language | None = None) -> list[str]:
    """Return the stems of a text in order, without stop words, including joined ones."""
    return list(_list_stems(text, (language or detect_language(text)).name))


# An index asks twice for the parts of each text, and for the same brands and colours again and again.
@lru_cache(maxsize=4_096)
def _list_stems(text: str, name: str) -> tuple[str, ...]:
    stop_words = get_language(name).stop_words
    found: list[str] = []
    for run in _iter_runs(*_tokenize(text)):
        word = run[0][0]
        if len(run) > 1 or word[0].isdigit():
            terms: list[Term] = []
            _add_run(run, terms, name)
            found += [term.stem for term in terms if term.word not in stop_words]
        elif word not in stop_words:
            # Most words: a term of its own would cost more than its stem.
            found.append(stem(word, name))
    return tuple(found)


def add_other_stems(term: Term) -> Term:
    """Return the term with its stems in all languages: too few words of a query show which one it has."""
    if not term.word.isalpha():
        return term
    stems = dict.fromkeys(stem(term.word, language.name) for language in LANGUAGES)
    return term._replace(others=tuple(one for one in stems if one != term.stem))


@lru_cache(maxsize=131_072)
def stem(word: str, language: str = ENGLISH.name) -> str:
    """Return one form for all forms of a word; in English, also for its British and American spelling."""
    if language == ENGLISH.name:
        word = _unify_spelling(word)
    with _stemmer_lock:
        return str(_stemmers[language].stemWord(word))


def _unify_spelling(word: str) -> str:
    word = IRREGULAR.get(word, word)
    if len(word) > 5:
        if word.endswith(("our", "ours", "oured")):
            word = word.replace("our", "or")
        elif word.endswith(("ise", "ised", "ises", "iser")):
            word = word[: word.rindex("is")] + "iz" + word[word.rindex("is") + 2 :]
        elif word.endswith(("tre", "bre", "tres", "bres")):
            word = word.rstrip("s")[:-2] + "er"
    return word


def _is_measure(run: list[_Token], token: _Token, gap: str) -> bool:
    return gap == " " and len(run) == 1 and run[0][0][0].isdigit() and is_unit(token[0])


def _add_run(run: list[_Token], terms: list[Term], language: str) -> None:
    """Add tokens without a space between them: each, and all joined."""
    first = run[0][0]
    if len(run) == 1 and not first[0].isdigit():
        terms.append(Term(first, stem(first, language), run[0][1], run[0][2]))
        return
    if len(run) == 2 and first[0].isdigit() and is_unit(run[1][0]):
        number = _spell_number(first)
        terms.append(Term(number, number, run[0][1], run[0][2]))
        measure = write_measure(number, run[1][0])
        terms.append(Term(measure, measure, run[0][1], run[1][2], joined=True))
        return
    for token, start, end in run:
        word = _spell_number(token) if token[0].isdigit() else token
        terms.append(Term(word, word if word[0].isdigit() else stem(word, language), start, end))
    if 2 <= len(run) <= _MAX_JOINED_PARTS:
        joined = "".join(token for token, _, _ in run)
        terms.append(Term(joined, stem(joined, language), run[0][1], run[-1][2], joined=True))


def _spell_number(token: str) -> str:
    """Unify spellings of a number: 1,500 and 1500; 1,5 and 1.5; 10.0 and 10."""
    token = token.replace(",", "") if _THOUSANDS.match(token) else token.replace(",", ".")
    if token.count(".") == 1:
        token = token.rstrip("0").rstrip(".")
    return token
