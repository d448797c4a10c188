"""Parses a streamed answer into statements that each name the products they are about.

The requested formats are `{"products": [{"id", "facts"}]}` and `{"statements": [{"text", "products"}]}`.
Similar JSON, and prose with `[id]` after each claim, are also accepted.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.rag.generation.product import Product

_FENCE = re.compile(r"^\s*(?:```|~~~)[a-zA-Z]*\s*")
_TEXT_KEYS = ("text", "reason", "statement", "message", "description", "answer")
_ID_KEYS = ("products", "product_ids", "ids", "id", "product_id", "citations")
# Marks after the full stop belong to the sentence, so the next character has to be seen first.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)]*(?:\s*\[[^\[\]\n]{1,200}\])*\s+(?=[^\s\[])|\n+(?=[^\s\[])")
_LISTED = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_LIST_MARK = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s*")
_BRACKETS = re.compile(r"\[([^\[\]\n]{1,200})\](?!\()")
_BETWEEN = " \t\r\n,"
_DECIDING_CHARACTERS = 12
"""Enough characters to recognise JSON behind a code fence."""


@dataclass(frozen=True, slots=True)
class FactReference:
    """A reference to words of a row's text, or to a field by name. `is_either`: the model left it open."""

    text: str
    is_quote: bool
    is_either: bool = False


@dataclass(frozen=True, slots=True)
class AnswerStatement:
    """The text without citation marks, the ids it names, known or not, and the facts it refers to."""

    text: str
    cited: tuple[str, ...]
    facts: tuple[FactReference, ...] = ()


class AnswerReader:
    """Parses an answer part by part: `feed` returns complete statements, `finish` the rest."""

    def __init__(self, products: Sequence[Product]) -> None:
        self._prose = _ProseReader(products)
        self._json = _JsonReader()
        self._kept = ""
        self._is_json: bool | None = None

    def feed(self, part: str) -> list[AnswerStatement]:
        """Return the statements that this part completes."""
        if self._is_json is not None:
            return list((self._json if self._is_json else self._prose).feed(part))
        self._kept += part
        if len(self._kept.strip()) < _DECIDING_CHARACTERS:
            return []
        return self._decide()

    def finish(self) -> list[AnswerStatement]:
        """Return the statements that the end completes."""
        found = self._decide() if self._is_json is None else []
        if not self._is_json:
            return [*found, *self._prose.finish()]
        found += self._json.finish()
        if self._json.has_found:
            return found
        # JSON of another shape: read its texts as prose.
        texts = "\n".join(self._json.iter_texts())
        return [*self._prose.feed(texts), *self._prose.finish()]

    def _decide(self) -> list[AnswerStatement]:
        text = _FENCE.sub("", self._kept)
        self._is_json = text.lstrip().startswith(("{", "["))
        return list((self._json if self._is_json else self._prose).feed(text))


class _JsonReader:
    """Extracts each object from the array at its closing brace."""

    def __init__(self) -> None:
        self._text = ""
        self._at: int | None = None
        self._decoder = json.JSONDecoder()
        self.has_found = False

    def feed(self, part: str) -> Iterator[AnswerStatement]:
        self._text += part
        if self._at is None:
            opened = re.search(r"\[\s*\{", self._text)
            if opened is None:
                return
            self._at = opened.start() + 1
        while True:
            rest = self._text[self._at :]
            start = self._at + len(rest) - len(rest.lstrip(_BETWEEN))
            try:
                found, self._at = self._decoder.raw_decode(self._text, start)
            except (ValueError, RecursionError):
                return
            statement = _read_statement(found)
            if statement is not None:
                self.has_found = True
                yield statement

    def finish(self) -> list[AnswerStatement]:
        if self.has_found:
            return []
        found = self._load()
        names_products = isinstance(found, dict) and any(found.get(key) for key in _ID_KEYS)
        statement = _read_statement(found) if names_products else None
        self.has_found = statement is not None
        return [statement] if statement else []

    def iter_texts(self) -> Iterator[str]:
        found = self._load()
        values = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
        yield from (value for value in values if isinstance(value, str))

    def _load(self) -> object:
        try:
            found, _ = self._decoder.raw_decode(self._text.lstrip())
        except (ValueError, RecursionError):
            return None
        return found


def _read_statement(found: object) -> AnswerStatement | None:
    if not isinstance(found, dict):
        return None
    text = next((found[key] for key in _TEXT_KEYS if isinstance(found.get(key), str)), "")
    ids = tuple(_iter_ids(next((found[key] for key in _ID_KEYS if key in found), ())))
    marked = tuple(name for citations in _BRACKETS.findall(text) for name in _split_citations(citations))
    facts = tuple(_iter_facts(found.get("facts")))
    if not (text.strip() or facts or "facts" in found) or not (ids or marked):
        return None
    return AnswerStatement(_BRACKETS.sub("", text).strip(), tuple(dict.fromkeys((*ids, *marked))), facts)


def _iter_facts(value: Any) -> Iterator[FactReference]:
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str):
            yield FactReference(item, is_quote=True, is_either=True)
        elif isinstance(item, dict):
            for key in ("field", "quote"):
                if isinstance(item.get(key), str):
                    yield FactReference(item[key], is_quote=key == "quote")


def _iter_ids(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, (list, tuple)) else [value]:
        inner = item.get("id") if isinstance(item, dict) else item
        if isinstance(inner, (str, int)) and not isinstance(inner, bool):
            yield str(inner)


def _split_citations(citations: str) -> list[str]:
    return [name.strip().removeprefix("id:").strip() for name in re.split(r"[,;]", citations) if name.strip()]


class _ProseReader:
    """Reads sentences. One that names no product is about those of the previous sentence."""

    def __init__(self, products: Sequence[Product]) -> None:
        self._products = products
        self._text = ""
        self._before: tuple[str, ...] = ()

    def feed(self, part: str) -> Iterator[AnswerStatement]:
        self._text += part
        at = 0
        for end in list(_SENTENCE_END.finditer(self._text)):
            sentence = self._text[at : end.end()]
            if not _LIST_MARK.fullmatch(sentence):
                at = end.end()
                yield from self._iter_statements([sentence])
        self._text = self._text[at:]

    def finish(self) -> Iterator[AnswerStatement]:
        rest, self._text = self._text, ""
        yield from self._iter_statements([rest])

    def _iter_statements(self, sentences: Iterable[str]) -> Iterator[AnswerStatement]:
        for sentence in sentences:
            text = _LISTED.sub("", sentence).strip()
            if not text.strip("`~ "):
                continue
            marked = [name for citations in _BRACKETS.findall(text) for name in _split_citations(citations)]
            self._before = tuple(dict.fromkeys((*marked, *self._find_named(text)))) or self._before
            yield AnswerStatement(
                re.sub(r"\s+([.,;!?])", r"\1", _BRACKETS.sub("", text)).strip(), self._before
            )

    def _find_named(self, text: str) -> Iterator[str]:
        for product in self._products:
            is_named = re.search(rf"(?<![\w-]){re.escape(product.label)}(?![\w-])", text)
            if is_named or (len(product.title) > 3 and product.title.casefold() in text.casefold()):
                yield product.label
