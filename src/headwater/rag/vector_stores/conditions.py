"""Evaluates conditions on a point's fields; every store gives the same result."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from headwater.rag.field_value import FieldValue
from headwater.rag.vector_stores.protocol import Filter, IndexCondition

TENANT = "tenant"
_Scalar = str | int | float | bool


def satisfies(conditions: Filter, fields: Mapping[str, FieldValue], tenant: str | None) -> bool:
    """True if all conditions hold."""
    return all(
        _holds(condition, tenant if condition.field == TENANT else fields.get(condition.field))
        for condition in conditions
    )


def _holds(condition: IndexCondition, value: FieldValue) -> bool:
    values: Sequence[_Scalar] = value if isinstance(value, list) else [] if value is None else [value]
    asked = condition.value
    if condition.operator in {"lt", "lte", "gt", "gte"}:
        return any(_compare(one, condition.operator, asked) for one in values)
    listed: Sequence[_Scalar | None] = asked if isinstance(asked, (list, tuple)) else [_scalar(asked)]
    found = any(_same(one, other) for one in values for other in listed)
    return found if condition.operator in {"eq", "in"} else not found


def _scalar(asked: object) -> _Scalar | None:
    return asked if isinstance(asked, (str, int, float, bool)) else None


def _same(one: _Scalar, other: _Scalar | None) -> bool:
    # Python's True equals 1; a filter must distinguish them.
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _compare(one: _Scalar, operator: str, asked: object) -> bool:
    if not _is_number(one) or not _is_number(asked):
        return False
    if operator == "lt":
        return one < asked
    if operator == "lte":
        return one <= asked
    return one > asked if operator == "gt" else one >= asked


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
