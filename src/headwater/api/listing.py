"""A list that a notebook shows as a table."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TypeVar

from headwater.app.notebook_table import format_table

T = TypeVar("T")
_SHOWN = 50


class Listing(list[T]):
    """A list of records, which are dataclasses or dicts. Notebooks show the first 50 as a table."""

    def _repr_html_(self) -> str:
        rows = [_to_dict(item) for item in self[:_SHOWN]]
        names = list(dict.fromkeys(name for row in rows for name in row))
        note = f"{len(self):,} in total" if len(self) > _SHOWN else ""
        return format_table(names, [[row.get(name) for name in names] for row in rows], note)


def _to_dict(item: object) -> Mapping[str, object]:
    if is_dataclass(item):
        return {field.name: getattr(item, field.name) for field in fields(item)}
    return item if isinstance(item, Mapping) else {"value": item}
