"""Extracts negations and prices from a query, in addition to its topic. Pure.

Only closed word classes are known here. A reading is never a filter: it only moves rows up and down, so a
wrong reading cannot hide anything.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from headwater.rag.lexical import units
from headwater.rag.lexical.analyzer import Term, add_other_stems, analyze, detect_language, fold
from headwater.rag.lexical.languages import Language

# Maximum length read from a query; longer text adds nothing to its meaning.
MAX_CHARACTERS = 2_000
# Each word is compared with all candidates: this bounds the cost of a query. The model reads all of it. 512
# characters of prose have fewer words; the longest judged query has 8.
MAX_WORDS = 64
# Fewer words do not show their language reliably.
_SURE_WORDS = 12
_MAX_UNWANTED = 4
_MAX_NEGATED_WORDS = 3

# "isn't", "don't", also with a typographic apostrophe.
_CONTRACTION = re.compile(r"\b(is|are|do|does|has|have|was|were|did|ca|wo|should|would|could)n['\u2019]?t\b")
_CURRENCY = r"(?:€|\$|£|eur|euros?|usd|dollars?|gbp|pounds?|bucks|chf|francs?)"
_NUMBER = r"(\d+(?:[.,]\d+)*)(?!\s*-?\s*(?:%|percent))"
# A number is a price next to a currency, or when no countable word follows.
_AFTER = r"(?:for|with|without|that|which|and|but|in|to|no|not|please|or|from|of)"
_AMOUNT = (
    rf"(?:{_CURRENCY}\s*{_NUMBER}|{_NUMBER}\s*{_CURRENCY}(?!\w)"
    rf"|{_NUMBER}(?=\s*(?:$|[,;.!?)]|{_AFTER}\b)))"
)
_PRICED = rf"(?:{_CURRENCY}\s*{_NUMBER}|{_NUMBER}\s*{_CURRENCY}(?!\w))"
_LEAD = r"(?:(?:that\s+)?costs?|costing|priced?(?:\s+at)?|for)?\s*"
_BETWEEN = re.compile(
    rf"\b(?:between|from)\s+{_CURRENCY}?\s*{_NUMBER}\s*{_CURRENCY}?\s*(?:and|to|-)\s*{_AMOUNT}"
)
_RANGE = re.compile(rf"{_CURRENCY}?\s*\b{_NUMBER}\s*(?:-|to)\s*{_PRICED}")
_AT_MOST = re.compile(
    rf"\b{_LEAD}(?:under|below|beneath|less\s+than|lower\s+than|cheaper\s+than|up\s+to|max(?:imum)?\.?(?:\s+of)?"
    rf"|at\s+most|no\s+more\s+than|not\s+more\s+than|not\s+over|not\s+above|within|budget\s+(?:of|is)?)\s*:?\s*{_AMOUNT}"
    rf"|<=?\s*{_AMOUNT}"
)
_AT_LEAST = re.compile(
    rf"\b{_LEAD}(?:over|above|more\s+than|at\s+least|min(?:imum)?\.?(?:\s+of)?|no\s+less\s+than|upwards?\s+of"
    rf"|starting\s+(?:at|from))\s*:?\s*{_AMOUNT}|>=?\s*{_AMOUNT}"
)
_ABOUT = re.compile(rf"\b{_LEAD}(?:about|around|roughly|approximately|circa|ca\.?)\s*{_PRICED}")
_EXACTLY = re.compile(rf"(?:\b(?:for|costs?|at|price)\s+)?{_PRICED}")
# Words that also mean other things need a currency.
_AT_MOST_ABROAD = re.compile(
    r"\b(?:(?:fur\s+)?unter|hochstens|maximal|weniger\s+als|gunstiger\s+als|billiger\s+als"
    r"|(?:a\s+)?moins\s+de|au\s+maximum|au\s+plus|(?:por\s+)?menos\s+de|por\s+debajo\s+de|como\s+maximo"
    r"|meno\s+di|al\s+massimo|minder\s+dan|maximaal|hoogstens|abaixo\s+de|no\s+maximo)"
    rf"\s*{_AMOUNT}"
    r"|\b(?:bis(?:\s+zu)?|jusqu\W?a|sous|hasta|fino\s+a|sotto(?:\s+i)?|onder(?:\s+de)?|tot|ate)"
    rf"\s*{_PRICED}"
)
_AT_LEAST_ABROAD = re.compile(
    r"\b(?:mindestens|mehr\s+als|plus\s+de|au\s+moins|a\s+partir\s+de|mas\s+de|al\s+menos|piu\s+di"
    rf"|almeno|meer\s+dan|minstens|mais\s+de|pelo\s+menos)\s*{_PRICED}"
)
_CHEAP_ABROAD = re.compile(
    r"\b(?:gunstig(?:e[rsnm]?)?|billig(?:e[rsnm]?)?|preiswert(?:e[rsnm]?)?|pas\s+cher(?:e|s|es)?|bon\s+marche"
    r"|barat[oa]s?|economic[oaie]s?|economique|a\s+buon\s+prezzo|goedkoop|goedkope)\b"
)
_CHEAP = re.compile(
    r"\b(?:(?:a\s+)?(?:good|great|best|fair)?\s*(?:value|price)[\s-]+to[\s-]+(?:price|value)(?:\s+ratio)?"
    r"|cheap(?:er|est)?|inexpensive|affordable|low[\s-]?(?:cost|priced?|budget)|on\s+a\s+budget|budget"
    r"|bargains?|economical|good\s+value|great\s+value|best\s+value|value\s+for\s+money"
    r"|not\s+(?:too\s+)?expensive)\b"
)
_DEAR = re.compile(r"\b(?:expensive|luxury|luxurious|high[\s-]?end|upmarket|upscale|pric(?:ey|iest))\b")


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a query asks for.

    `wanted` are the terms that rows are compared with; the model embeds `text`. Both exclude unwanted words
    and prices. `unwanted` are groups of stems: a row matches a group if it has all of its stems.

    Prices are in the catalogue's currency; `direction` is -1 for cheap, 1 for expensive.
    """

    text: str
    wanted: tuple[Term, ...]
    unwanted: tuple[tuple[str, ...], ...] = ()
    lowest: float | None = None
    highest: float | None = None
    direction: int = 0

    @property
    def asks_price(self) -> bool:
        """True if the query names a price, or asks for cheap or expensive products."""
        return self.lowest is not None or self.highest is not None or self.direction != 0

    def describe(self) -> dict[str, str]:
        """Describe unwanted words and prices for display."""
        found: dict[str, str] = {}
        if self.unwanted:
            found["not wanted"] = ", ".join(" ".join(group) for group in self.unwanted)
        if self.lowest is not None:
            found["price from"] = f"{self.lowest:g}"
        if self.highest is not None:
            found["price to"] = f"{self.highest:g}"
        if self.direction:
            found["price"] = "low" if self.direction < 0 else "high"
        return found


def understand(query: str) -> Understanding:
    """Read a query as typed; never raises."""
    folded = fold(query[:MAX_CHARACTERS]).replace("w/o", "without").strip()
    folded = _CONTRACTION.sub(r"\1 not", folded)
    rest, lowest, highest, direction = _read_price(folded)
    language = detect_language(folded)
    terms = analyze(rest, language)
    unwanted, dropped = _read_negations(rest, terms, language)
    kept = [term for number, term in enumerate(terms) if number not in dropped]
    # Only stop words and prices: better these than nothing.
    chosen = [term for term in kept if term.word not in language.stop_words] or kept or terms
    wanted = add_stems_if_few(_list_first(chosen))
    text = _write_text(rest, terms, dropped)
    return Understanding(text, wanted, unwanted[:_MAX_UNWANTED], lowest, highest, direction)


def _list_first(terms: Sequence[Term]) -> list[Term]:
    """Return the terms of the first `MAX_WORDS` different words."""
    words = dict.fromkeys(term.word for term in terms)
    kept = frozenset(islice(words, MAX_WORDS))
    return [term for term in terms if term.word in kept][: 2 * MAX_WORDS]


def add_stems_if_few(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms with their stems in all languages, unless there are enough to show their language."""
    return tuple(terms) if len(terms) > _SURE_WORDS else tuple(map(add_other_stems, terms))


def _write_text(rest: str, terms: Sequence[Term], dropped: frozenset[int]) -> str:
    pieces, end = [], 0
    for number in sorted(dropped):
        pieces.append(rest[end : max(terms[number].start, end)])
        end = max(end, terms[number].end)
    pieces.append(rest[end:])
    return " ".join("".join(pieces).split())


def _read_price(text: str) -> tuple[str, float | None, float | None, int]:
    """Return the text without its price, the bounds, and the direction."""
    if not any(char.isdigit() for char in text):
        return _read_direction(text, None, None)
    for pattern in (_BETWEEN, _RANGE):
        match = pattern.search(text)
        if match is not None:
            numbers = _list_numbers(match)
            return _read_direction(_cut(text, match), min(numbers), max(numbers))
    lowest = highest = None
    match = _AT_MOST.search(text) or _AT_MOST_ABROAD.search(text)
    if match is not None:
        highest = _list_numbers(match)[0]
        text = _cut(text, match)
    match = _AT_LEAST.search(text) or _AT_LEAST_ABROAD.search(text)
    if match is not None:
        lowest = _list_numbers(match)[0]
        text = _cut(text, match)
    if lowest is None and highest is None:
        match = _ABOUT.search(text)
        if match is not None:
            about = _list_numbers(match)[0]
            return _read_direction(_cut(text, match), about * 0.75, about * 1.25)
        match = _EXACTLY.search(text)
        if match is not None:
            return _read_direction(_cut(text, match), None, _list_numbers(match)[0])
    return _read_direction(text, lowest, highest)


def _read_direction(
    text: str, lowest: float | None, highest: float | None
) -> tuple[str, float | None, float | None, int]:
    for pattern, direction in ((_CHEAP, -1), (_CHEAP_ABROAD, -1), (_DEAR, 1)):
        match = pattern.search(text)
        if match is not None:
            return _cut(text, match), lowest, highest, direction
    return text, lowest, highest, 0


def _cut(text: str, match: "re.Match[str]") -> str:
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    # A query that is only a price word is about that word.
    return rest if rest.strip() else text


def _list_numbers(match: "re.Match[str]") -> list[float]:
    return [_parse_number(group) for group in match.groups() if group is not None]


def _parse_number(text: str) -> float:
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    parts = text.replace(",", ".").split(".")
    return float(parts[0] if len(parts) == 1 else "".join(parts[:-1]) + "." + parts[-1])


def _read_negations(
    text: str, terms: Sequence[Term], language: Language
) -> tuple[tuple[tuple[str, ...], ...], frozenset[int]]:
    """Return groups of unwanted stems, and the indexes of the terms that negate them."""
    groups: list[tuple[str, ...]] = []
    dropped: set[int] = set()
    number = 0
    while number < len(terms):
        length = _measure_negator(text, terms, number, language)
        if not length:
            number += 1
            continue
        chosen, end = _read_unwanted(text, terms, number + length, language)
        if chosen:
            groups += [tuple(terms[one].stem for one in group) for group in chosen]
            dropped.update(range(number, end))
        number = max(end, number + 1)
    kept = [
        term
        for number, term in enumerate(terms)
        if number not in dropped and term.word not in language.stop_words
    ]
    if groups and not kept and len(groups[0]) > 1:
        # "no leather boots": the boots are wanted.
        first = groups[0]
        last = max(one for one in dropped if terms[one].stem == first[-1])
        return ((first[0],), *groups[1:]), frozenset(dropped - {last})
    return tuple(groups), frozenset(dropped)


def _measure_negator(text: str, terms: Sequence[Term], number: int, language: Language) -> int:
    """Return the number of terms of the negation that starts here; 0 for none."""
    word = terms[number].word
    following = terms[number + 1] if number + 1 < len(terms) else None
    if following is None:
        return 0
    if (word, following.word) in language.two_word_negators:
        return 2
    if word not in language.negators or text[terms[number].end : terms[number].end + 1] in "-.":
        return 0
    if word == "no" and following.word[0].isdigit():
        return 0
    before = terms[number - 1].word if number else ""
    return 0 if before in language.verbal.get(word, ()) else 1


def _read_unwanted(
    text: str, terms: Sequence[Term], start: int, language: Language
) -> tuple[list[list[int]], int]:
    """Return groups of term indexes after a negation, and where it ends."""
    groups: list[list[int]] = [[]]
    number = start
    while number < len(terms) and len(groups[-1]) < _MAX_NEGATED_WORDS:
        term = terms[number]
        parted = number > start and re.search(r"[,.;:!?()]", text[terms[number - 1].end : term.start])
        if parted and groups[-1]:
            break
        if term.word in language.joiners and groups[-1]:
            if not _continues(terms, number, language):
                break
            groups.append([])
        elif term.word in language.fillers and not groups[-1]:
            pass
        elif term.word in language.stop_words or term.word in language.negators:
            break
        else:
            groups[-1].append(number)
        number += 1
    return [group for group in groups if group], number


def _continues(terms: Sequence[Term], number: int, language: Language) -> bool:
    """True if the word after "or" is also unwanted; "and" begins something else."""
    following = terms[number + 1] if number + 1 < len(terms) else None
    is_also = terms[number].word in language.also
    return following is not None and following.word not in language.stop_words and not is_also


def is_measure(term: Term) -> bool:
    """True if the term is a number with its unit."""
    return term.joined and units.is_measure(term.stem)


def spell_corrections(corrections: Mapping[str, str]) -> dict[str, str]:
    """Describe the corrections for display."""
    return {f"spelling of {word}": other for word, other in sorted(corrections.items())}
