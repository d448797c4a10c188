"""Hudi's own column types, vectors and blobs, which file formats and DDL cannot express."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator

_ALLOWED = "Allowed: vector(384), vector(384, double), blob"
_VECTOR = re.compile(r"vector\s*\(\s*(\d+)\s*(?:,\s*(\w+)\s*)?\)", re.IGNORECASE)
_MAX_DIMENSION = 65_536


@dataclass(frozen=True, slots=True)
class VectorType:
    """A vector of `float` (32-bit) or 64-bit numbers."""

    dimension: int
    element: Literal["float", "double"] = "float"
    name = "vector"

    def __str__(self) -> str:
        return f"vector({self.dimension})" if self.element == "float" else f"vector({self.dimension}, double)"

    @property
    def hudi_type(self) -> str:
        """Return the type as Hudi spells it in a column's metadata."""
        return str(self).upper()


@dataclass(frozen=True, slots=True)
class BlobType:
    """Bytes that a query reads only on request."""

    name = "blob"
    hudi_type = "BLOB"

    def __str__(self) -> str:
        return self.name


ColumnType = VectorType | BlobType


def parse_column_type(text: str) -> ColumnType:
    """Parse the type. Raises `ValueError` with the allowed types."""
    word = text.strip().lower()
    if word == "blob":
        return BlobType()
    if word == "variant":
        raise ValueError(
            "'variant' requires Spark 4; headwater runs Hudi 1.2 on Spark 3.5. Store the JSON in a `string` "
            "column, and extract values with `get_json_object`"
        )
    found = _VECTOR.fullmatch(word)
    if found is None:
        raise ValueError(
            f"{text!r} is not one of Hudi's own types; set other types in `schema_hints`. {_ALLOWED}"
        )
    dimension, element = int(found[1]), found[2] or "float"
    if not 1 <= dimension <= _MAX_DIMENSION:
        raise ValueError(f"{text!r}: a vector has 1 to {_MAX_DIMENSION} elements. {_ALLOWED}")
    if element not in ("float", "double"):
        raise ValueError(f"{text!r}: the elements of a vector are float or double. {_ALLOWED}")
    return VectorType(dimension, "double" if element == "double" else "float")


def _normalise(text: str) -> str:
    return str(parse_column_type(text))


ColumnTypes = dict[str, Annotated[str, AfterValidator(_normalise)]]
