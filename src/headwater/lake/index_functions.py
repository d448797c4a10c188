"""The functions that an expression index supports, with their column types and options.

Hudi 1.2 validates an index only during the build, after it has written the definition. Every later write then
retries the build and fails. headwater therefore validates before anything is written. It also excludes
functions whose index makes ordinary queries miss rows.
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
"""The key of the function among an index's options in Hudi."""

_WHOLE: tuple[ColumnType, ...] = ("int", "bigint")
_DAYS: tuple[ColumnType, ...] = ("date", "timestamp")


@dataclass(frozen=True, slots=True)
class ExpressionFunction:
    """A function; `accepts` are column types, options are `required` or `optional`."""

    accepts: tuple[ColumnType, ...]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """All options."""
        return (*self.required, *self.optional)


FUNCTIONS: Mapping[str, ExpressionFunction] = {
    "from_unixtime": ExpressionFunction(_WHOLE, optional=("format",)),
    "date_format": ExpressionFunction(_DAYS, required=("format",)),
}
# Hudi 1.2 confuses the values of an index with those of other expressions of the same column and type. It
# looks up `upper(name)` among values of `lower(name)`, and `month(day)` among those of `year(day)`.
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
"""Functions that Hudi supports, but whose index makes queries of the same column miss rows."""
LOSS = "queries that use the same column in another expression miss rows"


def name_column_type(arrow_type: "pa.DataType") -> ColumnType:
    """Return headwater's name for a column type; `complex` for lists, structs and maps."""
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
    """Yield the reasons why the index cannot or must not be built; `options` exclude the function."""
    known = FUNCTIONS.get(function)
    if known is None:
        near = find_nearest(function, FUNCTIONS)
        meant = f"did you mean {near}? " if near else ""
        reason = f"{function}: {LOSS}" if function in LOSSY else f"there is no function {function!r}"
        yield f"{reason}; {meant}allowed: {', '.join(sorted(FUNCTIONS))}"
        return
    if column_type not in known.accepts:
        yield f"{function} takes {_join(known.accepts)}, but column {column} is {column_type}"
    for name in known.required:
        if name not in options:
            yield f"{function} requires the option {name}"
    for name in options:
        if name not in known.options:
            yield f"{function} has no option {name}; allowed: {', '.join(known.options)}"


def _join(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
