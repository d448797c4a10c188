"""Which functions an expression index knows, which columns each takes, and with which options.

Hudi 1.2 finds out while it builds the index, and by then has written the definition down: every later write
builds it again, and fails. So it is decided here, before anything is written.
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
IDENTITY = "identity"
BLOOM_OPTIONS = ("filtertype", "numentries", "fpp", "maxentries")

_TEXT: tuple[ColumnType, ...] = ("string",)
_WHOLE: tuple[ColumnType, ...] = ("int", "bigint")
_DAYS: tuple[ColumnType, ...] = ("date", "timestamp")
_SIMPLE: tuple[ColumnType, ...] = ("boolean", *_WHOLE, "float", "double", *_TEXT, *_DAYS)


@dataclass(frozen=True, slots=True)
class ExpressionFunction:
    """`accepts` are types of columns; options are `required` or `optional`, `numbers` those of them that are
    whole numbers."""

    accepts: tuple[ColumnType, ...]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.required, *self.optional)


FUNCTIONS: Mapping[str, ExpressionFunction] = {
    IDENTITY: ExpressionFunction(_SIMPLE),
    "lower": ExpressionFunction(_TEXT),
    "upper": ExpressionFunction(_TEXT),
    "trim": ExpressionFunction(_TEXT, optional=("trimString",)),
    "ltrim": ExpressionFunction(_TEXT, optional=("trimString",)),
    "rtrim": ExpressionFunction(_TEXT, optional=("trimString",)),
    "length": ExpressionFunction(_TEXT),
    "substring": ExpressionFunction(_TEXT, required=("pos", "len")),
    "regexp_extract": ExpressionFunction(_TEXT, required=("pattern", "idx")),
    "regexp_replace": ExpressionFunction(_TEXT, required=("pattern", "replacement")),
    "from_unixtime": ExpressionFunction(_WHOLE, optional=("format",)),
    "unix_timestamp": ExpressionFunction((*_TEXT, *_DAYS), optional=("format",)),
    "date_format": ExpressionFunction(_DAYS, required=("format",)),
    "to_date": ExpressionFunction((*_TEXT, "timestamp"), optional=("format",)),
    "to_timestamp": ExpressionFunction(_TEXT, optional=("format",)),
    "year": ExpressionFunction(_DAYS),
    "month": ExpressionFunction(_DAYS),
    "day": ExpressionFunction(_DAYS),
    "hour": ExpressionFunction(("timestamp",)),
    "date_add": ExpressionFunction(("date",), required=("days",)),
    "date_sub": ExpressionFunction(("date",), required=("days",)),
}
_NUMBERS = frozenset({"pos", "len", "idx", "days"})


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
    function: str, column: str, column_type: ColumnType, options: Mapping[str, str], *, with_bloom: bool
) -> Iterator[str]:
    """Why the index could not be built, in a sentence each; `options` without the function itself."""
    known = FUNCTIONS.get(function)
    if known is None:
        near = find_nearest(function, FUNCTIONS)
        meant = f"did you mean {near}? " if near else ""
        yield f"there is no function {function!r}; {meant}known: {', '.join(sorted(FUNCTIONS))}"
        return
    if column_type not in known.accepts:
        yield f"{function} takes {_join(known.accepts)}, and column {column} is {column_type}"
    for name in known.required:
        if name not in options:
            yield f"{function} needs the option {name}"
    allowed = (*known.options, *(BLOOM_OPTIONS if with_bloom else ()))
    for name, value in options.items():
        if name not in allowed:
            yield f"{function} has no option {name}; allowed: {', '.join(allowed) or 'none'}"
        elif name in _NUMBERS and not value.lstrip("-").isdecimal():
            yield f"option {name} is a whole number, not {value!r}"


def _join(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
