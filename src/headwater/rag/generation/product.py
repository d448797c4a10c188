"""A found row as answers use it: an id that is safe to print, a title, a price, plain text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headwater.rag.field_value import FieldValue
from headwater.rag.generation.orders import drop_orders
from headwater.rag.generation.sanitizing import clean_text
from headwater.rag.retrieval.query import FoundRow

_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}")
_PRICE_NAME = re.compile(r"(?i)price|cost")
_TITLE_NAMES = ("title", "name")
_TITLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Product:
    """A found row, cleaned.

    `label` names the row in prompts and citations: the row key, unless that is not a plain word. `text`
    contains no orders.
    """

    row: FoundRow
    label: str
    title: str
    text: str
    fields: Mapping[str, FieldValue]

    def iter_prices(self) -> Iterator[tuple[str, float]]:
        """Yield the fields that hold a price."""
        for name, value in self.fields.items():
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if _PRICE_NAME.search(name) and is_number and isinstance(value, (int, float)):
                yield name, float(value)


def build_products(rows: Sequence[FoundRow], title_fields: Sequence[str]) -> list[Product]:
    """Return products in row order. The title is the first of `title_fields` (or title, name) that a row has,
    else the first line of its text."""
    return [_build(row, number, title_fields) for number, row in enumerate(rows, 1)]


def _build(row: FoundRow, number: int, title_fields: Sequence[str]) -> Product:
    fields = {name: _clean(value) for name, value in row.fields.items()}
    text = drop_orders(clean_text(row.text))
    named = (fields.get(name) for name in (*title_fields, *_TITLE_NAMES))
    # A row's text starts with its first column, on a separate line.
    first_line = clean_text(row.text.partition("\n")[0], _TITLE_CHARACTERS)
    title = next((value for value in named if isinstance(value, str) and value), first_line)
    is_plain = _PLAIN_ID.fullmatch(row.row_key) and clean_text(row.row_key) == row.row_key
    label = row.row_key if is_plain else f"row-{number}"
    return Product(row, label, clean_text(title, _TITLE_CHARACTERS), text, fields)


def _clean(value: FieldValue) -> FieldValue:
    if isinstance(value, str):
        return clean_text(value, 300)
    return [clean_text(item, 300) for item in value[:20]] if isinstance(value, list) else value
