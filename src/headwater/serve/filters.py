"""Converts `{"price": {"lte": 50}, "brand": "X", "category": ["a", "b"]}` to conditions, or to a 422."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from headwater.rag.vector_stores.protocol import FieldKind, IndexCondition, Operator
from headwater.serve.problems import RequestError

OPERATORS: tuple[Operator, ...] = get_args(Operator)
MAX_CONDITIONS = 20
MAX_VALUES = 100
MAX_TEXT = 256
_RANGES = frozenset({"lt", "lte", "gt", "gte"})
_LISTS = frozenset({"in", "not_in"})


def parse_filters(filters: Mapping[str, Any], known: Mapping[str, FieldKind]) -> list[IndexCondition]:
    """Return the conditions. Raises `RequestError` with all unknown fields or the first bad condition."""
    unknown = [name for name in filters if name not in known]
    if unknown:
        errors = [
            {"where": f"filters.{name[:64]}", "allowed": sorted(known)} for name in unknown[:MAX_CONDITIONS]
        ]
        raise RequestError("filter_unknown_field", errors=errors)
    conditions = [
        condition
        for name, value in filters.items()
        for condition in _iter_conditions(name, value, known[name])
    ]
    if len(conditions) > MAX_CONDITIONS:
        raise RequestError("filter_invalid", f"the limit is {MAX_CONDITIONS} conditions")
    return conditions


def _iter_conditions(name: str, value: Any, kind: FieldKind) -> Iterator[IndexCondition]:
    if isinstance(value, dict):
        if not value:
            raise _refuse(name, "the condition is an empty object", sorted(OPERATORS))
        for operator, operand in value.items():
            if operator not in OPERATORS:
                raise _refuse(name, f"unknown operator {operator[:32]!r}", sorted(OPERATORS))
            yield _build(name, operator, operand, kind)
    else:
        yield _build(name, "in" if isinstance(value, list) else "eq", value, kind)


def _build(name: str, operator: Operator, value: Any, kind: FieldKind) -> IndexCondition:
    if operator in _LISTS:
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_VALUES:
            raise _refuse(name, f"`{operator}` takes a list of 1 to {MAX_VALUES} values", kind)
        return IndexCondition(name, operator, [_check(name, item, kind) for item in value])
    if operator in _RANGES and kind != "number":
        raise _refuse(name, f"`{operator}` requires a number field", ["eq", "ne", "in", "not_in"])
    return IndexCondition(name, operator, _check(name, value, kind))


def _check(name: str, value: Any, kind: FieldKind) -> str | int | float | bool:
    is_flag = isinstance(value, bool)
    if kind == "bool" and is_flag:
        return bool(value)
    if kind == "number" and isinstance(value, (int, float)) and not is_flag and abs(value) < 1e300:
        return value
    if kind == "keyword" and isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable():
        return value
    raise _refuse(
        name,
        f"not a {kind}" if kind != "keyword" else f"not printable text of at most {MAX_TEXT} characters",
        kind,
    )


def _refuse(name: str, message: str, allowed: object) -> RequestError:
    return RequestError(
        "filter_invalid", errors=[{"where": f"filters.{name}", "message": message, "allowed": allowed}]
    )
