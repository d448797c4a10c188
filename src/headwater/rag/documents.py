"""Converts a table row into the searched text and its fields. Pure."""

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal

from headwater.config.search.index import order_by_weight
from headwater.rag.field_value import FieldValue

TEXT_VERSION = "1"
"""Part of every fingerprint: change it with any code that changes texts here."""

# A longer title is indexed as text of its own, and is not repeated at the start of every chunk.
MAX_HEAD_CHARACTERS = 200
_MAX_INTEGER = 2**63


@dataclass(frozen=True, slots=True)
class DocumentRules:
    """The role of each column: `text` maps columns to their weights."""

    text: Mapping[str, float]
    fields: tuple[str, ...]
    tenant: str | None = None

    @property
    def text_columns(self) -> list[str]:
        """Return the columns, the most important first."""
        return order_by_weight(self.text)


@dataclass(frozen=True, slots=True)
class Document:
    """One row, prepared for the index.

    `head` is the text of the column with the greatest weight as one line, if it is short enough to precede
    every chunk; `body` is the rest.
    """

    row_key: str
    head: str
    body: str
    fields: Mapping[str, FieldValue]
    tenant: str | None


def build_document(row_key: str, row: Mapping[str, object], rules: DocumentRules) -> Document | None:
    """Return the document of a row; None for a row without text."""
    columns = rules.text_columns
    texts = [_to_text(row.get(name)) for name in columns]
    if not any(texts):
        return None
    head, parts = "", texts
    if len(columns) > 1 and len(texts[0]) <= MAX_HEAD_CHARACTERS:
        head, parts = " ".join(texts[0].split()), texts[1:]
    return Document(
        row_key=row_key,
        head=head,
        body="\n\n".join(part for part in parts if part),
        fields=build_fields(row, rules),
        tenant=_to_tenant(row.get(rules.tenant)) if rules.tenant else None,
    )


def build_fields(row: Mapping[str, object], rules: DocumentRules) -> dict[str, FieldValue]:
    """Return the plain values of a row by column, without nulls."""
    found = {name: _to_field(row.get(name)) for name in rules.fields}
    return {name: value for name, value in found.items() if value is not None}


def clean_text(text: str) -> str:
    """Compose characters, and remove control and invisible characters and trailing spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if not text.isprintable():
        text = "".join(char for char in text.replace("\r\n", "\n") if _is_kept(char))
        return "\n".join(line.rstrip() for line in text.split("\n")).strip()
    return text.strip()


def _is_kept(char: str) -> bool:
    return char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def _to_text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(part for part in map(_to_text, value) if part)
    plain = _to_field(value)
    return "" if plain is None else clean_text(str(plain))


def _to_tenant(value: object) -> str | None:
    plain = _to_field(value)
    return None if plain is None else str(plain)


def _to_field(value: object) -> FieldValue:
    """Convert to text, number, boolean or a list of texts; None for other values."""
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, int):
        return value if -_MAX_INTEGER <= value < _MAX_INTEGER else str(value)
    if isinstance(value, (float, Decimal)):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(timezone.utc)).isoformat()
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        parts = [_to_field(part) for part in value]
        return [str(part) for part in parts if part is not None and not isinstance(part, list)]
    return None
