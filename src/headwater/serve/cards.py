"""The cards of the page: found rows as a visitor reads them. Pure.

The API returns rows as they are; a page needs plain text, and addresses that are safe to open.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import urlsplit

from headwater.config.search.page import PageConfig
from headwater.rag.field_value import FieldValue
from headwater.rag.generation.display_text import display_text
from headwater.rag.generation.product import find_currency, is_currency_name, iter_prices, name_in_words
from headwater.rag.retrieval.query import FoundRow

_TITLE_CHARACTERS = 160
_FACT_CHARACTERS = 80
_SHORT_CHARACTERS = 40
_DEFAULT_FACTS = 6
_MAX_URL_CHARACTERS = 2_048
_TITLE_NAMES = ("title", "name")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d+)?")
_SCHEMES = frozenset({"http", "https"})
# Control, format, unassigned and separator characters: browsers remove some of them from an address.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Fact:
    """A field of a product, with its name in words."""

    name: str
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Card:
    """One product. Texts are plain: neither markup nor entities. `fields` are the row's values, unchanged."""

    id: str | int
    title: str
    text: str
    price: float | None
    currency: str | None
    link: str | None
    image: str | None
    facts: Sequence[Fact]
    fields: Mapping[str, object]
    matched_terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class CardRules:
    """The columns that the page shows; columns with titles, the first that a row has; the currency of rows
    without one of their own."""

    page: PageConfig = field(default_factory=PageConfig)
    title_columns: Sequence[str] = ()
    currency: str | None = None

    def build_card(self, row: FoundRow, row_id: str | int) -> Card:
        """Build the card of a row."""
        page, fields = self.page, row.fields
        titles = (fields.get(name) for name in (*self.title_columns, *_TITLE_NAMES))
        # A row's text starts with its title, on a separate line.
        first_line = row.text.partition("\n")[0]
        raw_title = next((one for one in titles if isinstance(one, str) and one.strip()), first_line)
        title = display_text(raw_title, _TITLE_CHARACTERS).replace("\n", " ") or str(row_id)
        price = next(self._iter_prices(fields), None)
        return Card(
            id=row_id,
            title=title,
            text=_remove_title(display_text(row.text), title),
            price=price,
            currency=(find_currency(fields) or self.currency) if price is not None else None,
            link=check_link(_read_first(fields, page.link)),
            image=check_image(_read_first(fields, page.image)),
            facts=[Fact(name_in_words(name), value) for name, value in self._iter_facts(row, title)],
            fields={name: value for name, value in fields.items() if value is not None},
            matched_terms=row.matched_terms,
        )

    def _iter_prices(self, fields: Mapping[str, FieldValue]) -> Iterator[float]:
        if self.page.price is None:
            yield from (value for _, value in iter_prices(fields))
            return
        value = fields.get(self.page.price)
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield float(value)

    def _iter_facts(self, row: FoundRow, title: str) -> Iterator[tuple[str, str | int | float | bool]]:
        if self.page.facts is not None:
            for name in self.page.facts:
                value = _show(row.fields.get(name))
                if value is not None and value != "":
                    yield name, value
            return
        shown = {self.page.title, self.page.price, self.page.link, self.page.image}
        if self.page.price is None:
            shown |= {name for name, _ in iter_prices(row.fields)}
        names = [name for name in row.fields if name not in shown and not name.startswith("_")]
        values = ((name, _show(row.fields[name])) for name in names)
        telling = (
            (name, value)
            for name, value in values
            if value is not None and value not in (title, row.row_key) and _is_telling(name, value)
        )
        yield from islice(telling, _DEFAULT_FACTS)


def check_link(value: str) -> str | None:
    """Return the address unchanged if it is an `http` or `https` URL, or a path on the same site; else None.

    A URL with a user name is rejected: `https://shop.example@evil.example` reads as another host.
    """
    address = value.strip()
    if not 0 < len(address) <= _MAX_URL_CHARACTERS or "\\" in address:
        return None
    if any(unicodedata.category(character) in _INVISIBLE for character in address):
        return None
    try:
        parts = urlsplit(address)
        is_url = parts.scheme in _SCHEMES and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return None
    is_path = address.startswith("/") and not address.startswith("//")
    return address if is_url or is_path else None


def check_image(value: str) -> str | None:
    """Return the address as `check_link`, of images that the page's policy permits: `https`, or this site."""
    address = check_link(value)
    return None if address is None or address.lower().startswith("http:") else address


def _read_first(fields: Mapping[str, FieldValue], name: str | None) -> str:
    value = fields.get(name) if name else None
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, str) else ""


def _show(value: FieldValue | None) -> str | int | float | bool | None:
    if isinstance(value, list):
        value = ", ".join(value)
    return display_text(value, _FACT_CHARACTERS).replace("\n", " ") if isinstance(value, str) else value


def _is_telling(name: str, value: object) -> bool:
    is_short = 0 < len(str(value)) <= _SHORT_CHARACTERS
    return is_short and not is_currency_name(name) and not str(value).startswith(("http://", "https://"))


def _remove_title(text: str, title: str) -> str:
    rest = text.removeprefix(title)
    is_title = rest != text and not rest[:1].isalnum()
    return rest.lstrip(" .:\n") if is_title else text
