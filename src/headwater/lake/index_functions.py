"""Which functions an expression index may have, which columns each takes, and with which options.

Hudi 1.2 finds out while it builds the index, and by then has written the definition down: every later write
builds it again, and fails. So it is decided here, before anything is written. Of the functions that Hudi
knows those are left out whose index lets ordinary queries miss rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headwater.config.problems.nearest import find_nearest

if TYPE_CHECKING:
    import pyarrow as pa

ColumnType = Literal[
    "boolean",
    "int",
    "bigint",
    "float",
    "double",
    "decimal",
    "string",
    "binary",
    "date",
    "timestamp",
    "complex",
]

FUNCTION_OPTION = "expr"
"""Under this name Hudi keeps the function among an index's options."""

_WHOLE: tuple[ColumnType, ...] = ("int", "bigint")
_DAYS: tuple[ColumnType, ...] = ("date", "timestamp")


@dataclass(frozen=True, slots=True)
class ExpressionFunction:
    """`accepts` are types of columns; options are `required` or `optional`."""

    accepts: tuple[ColumnType, ...]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.required, *self.optional)


FUNCTIONS: Mapping[str, ExpressionFunction] = {
    "from_unixtime": ExpressionFunction(_WHOLE, optional=("format",)),
    "date_format": ExpressionFunction(_DAYS, required=("format",)),
}
# Hudi 1.2 takes the values of an index for those of any other form of its column that has their type: a
# query for `upper(name)` is looked up among values of `lower(name)`, `month(day)` among those of `year(day)`.
LOSSY = frozenset(
    {
        "identity",
        "lower",
        "upper",
        "trim",
        "ltrim",
        "rtrim",
        "length",
        "substring",
        "split",
        "regexp_extract",
        "regexp_replace",
        "unix_timestamp",
        "to_date",
        "to_timestamp",
        "year",
        "month",
        "day",
        "hour",
        "date_add",
        "date_sub",
    }
)
"""Functions that Hudi knows, too, and whose index makes queries of the same column miss rows."""
LOSS = "queries that ask for the same column in another way miss rows by it"


def name_column_type(arrow_type: "pa.DataType") -> ColumnType:
    """The word used here for a column's type; `complex` for lists, structs and maps."""
    from pyarrow import types

    tests: Iterable[tuple[ColumnType, bool]] = (
        ("boolean", types.is_boolean(arrow_type)),
        ("bigint", types.is_int64(arrow_type)),
        ("int", types.is_integer(arrow_type)),
        ("float", types.is_float32(arrow_type)),
        ("double", types.is_float64(arrow_type)),
        ("decimal", types.is_decimal(arrow_type)),
        ("string", types.is_string(arrow_type) or types.is_large_string(arrow_type)),
        ("binary", types.is_binary(arrow_type) or types.is_large_binary(arrow_type)),
        ("date", types.is_date(arrow_type)),
        ("timestamp", types.is_timestamp(arrow_type)),
    )
    return next((name for name, found in tests if found), "complex")


def iter_expression_problems(
    function: str, column: str, column_type: ColumnType, options: Mapping[str, str]
) -> Iterator[str]:
    """Why the index cannot be built, or must not be, in a sentence each; `options` without the function."""
    known = FUNCTIONS.get(function)
    if known is None:
        near = find_nearest(function, FUNCTIONS)
        meant = f"did you mean {near}? " if near else ""
        told = f"{function}: {LOSS}" if function in LOSSY else f"there is no function {function!r}"
        yield f"{told}; {meant}allowed: {', '.join(sorted(FUNCTIONS))}"
        return
    if column_type not in known.accepts:
        yield f"{function} takes {_join(known.accepts)}, and column {column} is {column_type}"
    for name in known.required:
        if name not in options:
            yield f"{function} needs the option {name}"
    for name in options:
        if name not in known.options:
            yield f"{function} has no option {name}; allowed: {', '.join(known.options)}"


def _join(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
