"""A found row as answers use it: an id that is safe to print, a title, prices, and quotable sentences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from headwater.rag.field_value import FieldValue
from headwater.rag.generation.descriptions import (
    Surroundings,
    find_flaw,
    is_about,
    is_descriptive,
    is_plain_name,
    is_plain_value,
    list_named_words,
    list_question_scripts,
    select_name,
    select_sentences,
    split_sentences,
)
from headwater.rag.generation.sanitizing import clean_text, end_sentence, mark_text
from headwater.rag.retrieval.query import FoundRow

_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}")
_PRICE_NAME = re.compile(r"(?i)price|cost")
_CURRENCY_NAME = re.compile(r"(?i)(?:price_?)?currency(?:_?code)?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_FIELD_NAME = re.compile(r"[A-Za-z][\w.]{0,39}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TITLE_NAMES = ("title", "name")
_TITLE_CHARACTERS = 120
_BODY_CHARACTERS = 2_500
_NOTHING = Surroundings()


@dataclass(frozen=True, slots=True)
class Product:
    """A found row, with only what may be shown of it.

    `label` names the row in prompts and citations: the row key, unless that is not a plain word. `title` is
    the label if the row's title is no plain name. `sentences` are those without a flaw, for the model; those
    of them about the question are `quotable`. `fields` are plain values.
    """

    row: FoundRow
    label: str
    title: str
    sentences: tuple[str, ...]
    quotable: tuple[str, ...]
    fields: Mapping[str, FieldValue]
    currency: str | None = None

    @property
    def text(self) -> str:
        """All sentences that may be quoted."""
        return " ".join(map(end_sentence, self.quotable))

    def iter_prices(self) -> Iterator[tuple[str, float]]:
        """Yield the fields that hold a price."""
        return iter_prices(self.fields)


def iter_prices(fields: Mapping[str, FieldValue]) -> Iterator[tuple[str, float]]:
    """Yield the numbers in fields with the name of a price."""
    for name, value in fields.items():
        if _PRICE_NAME.search(name) and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, float(value)


def build_products(
    rows: Sequence[FoundRow], title_fields: Sequence[str], question: str = "", currency: str | None = None
) -> list[Product]:
    """Return products in row order. The title is the first of `title_fields` (or title, name) that a row has,
    else the first line of its text. `currency` is that of all prices without one of their own."""
    return [_build(row, number, title_fields, question, currency) for number, row in enumerate(rows, 1)]


def _build(
    row: FoundRow, number: int, title_fields: Sequence[str], question: str, currency: str | None
) -> Product:
    scripts = list_question_scripts(question)
    label = row.row_key if _is_plain_id(row.row_key) else f"row-{number}"
    currency = find_currency(row.fields) or currency
    fields = dict(_iter_fields(row.fields, Surroundings(scripts=scripts, currency=currency)))
    titled = (row.fields.get(name) for name in (*title_fields, *_TITLE_NAMES))
    # A row's text starts with its first column, on a separate line.
    first_line = row.text.partition("\n")[0]
    raw_title = next((value for value in titled if isinstance(value, str) and value.strip()), first_line)
    title = mark_text(raw_title, _TITLE_CHARACTERS)
    prices = tuple(price for _, price in Product(row, label, "", (), (), fields).iter_prices())
    plain = Surroundings(frozenset(), prices, currency, scripts)
    shown = select_name(title, plain, is_trusted=True)
    values = [value for value in fields.values() if isinstance(value, str)]
    around = Surroundings(list_named_words([shown, *values]), prices, currency, scripts)
    body = mark_text(row.text, _BODY_CHARACTERS)
    texts = [body, *_iter_texts(row.fields), title]
    is_trusted = not any(
        find_flaw(part, around) == "order" for text in texts for part in split_sentences(text)
    )
    if not is_trusted:
        fields = {name: value for name, value in fields.items() if _is_trusted_value(value, plain)}
        shown = select_name(title, plain, is_trusted=False)
    sentences = select_sentences(body, around) if is_trusted else ()
    own = tuple(text for text in sentences if _bare(text) != _bare(title))
    return Product(row, label, shown or label, own, _select_quotable(own, question, around), fields, currency)


def _select_quotable(sentences: tuple[str, ...], question: str, around: Surroundings) -> tuple[str, ...]:
    """Return the sentences about the question; without any, the first that describes, or the first."""
    about = tuple(text for text in sentences if is_about(text, question))
    describing = (text for text in sentences if is_descriptive(text, around))
    return about or tuple(islice(describing, 1)) or sentences[:1]


def _iter_fields(fields: Mapping[str, FieldValue], around: Surroundings) -> Iterator[tuple[str, FieldValue]]:
    for name, value in fields.items():
        if not (_FIELD_NAME.fullmatch(name) and is_plain_name(name_in_words(name), _NOTHING)):
            continue
        if isinstance(value, str):
            plain = mark_text(value, 300)
            if is_plain_value(plain, around):
                yield name, plain
        elif isinstance(value, list):
            kept = [plain for item in value[:20] if is_plain_value(plain := mark_text(item, 300), around)]
            if kept:
                yield name, kept
        elif value is not None:
            yield name, value


def name_in_words(name: str) -> str:
    """Return the words of a field's name: `in_stock` and `inStock` are `in stock`."""
    return _CAMEL.sub(" ", name).replace("_", " ").replace(".", " ").strip().lower()


def _iter_texts(fields: Mapping[str, FieldValue]) -> Iterator[str]:
    for value in fields.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield mark_text(text, 300)


def _is_trusted_value(value: FieldValue, around: Surroundings) -> bool:
    texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return all(select_name(text, around, is_trusted=False) == text for text in texts)


def _is_plain_id(key: str) -> bool:
    words = re.sub(r"[._:/-]+", " ", key)
    return bool(_PLAIN_ID.fullmatch(key)) and clean_text(key) == key and is_plain_name(words, _NOTHING)


def find_currency(fields: Mapping[str, FieldValue]) -> str | None:
    """Return the currency in a field that is named so; None without one."""
    for name, value in fields.items():
        if is_currency_name(name) and isinstance(value, str) and _CURRENCY.fullmatch(value.strip()):
            return value.strip()
    return None


def is_currency_name(name: str) -> bool:
    """True if a field of this name has the currency of the prices."""
    return _CURRENCY_NAME.fullmatch(name) is not None


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()
