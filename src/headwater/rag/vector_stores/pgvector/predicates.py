"""Converts conditions to SQL with the results of `satisfies`. Pure."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwater.rag.vector_stores.conditions import TENANT
from headwater.rag.vector_stores.pgvector.plain_text import escape_text, write_value
from headwater.rag.vector_stores.protocol import Filter, IndexCondition

_COMPARISONS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_NOTHING = "false"

Parameter = str | list[str]


@dataclass(slots=True)
class Predicate:
    """A condition on `point`, an alias of the points table, and the parameters by name."""

    text: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


def build_predicate(conditions: Filter) -> Predicate | None:
    """Return the conjunction of the conditions; None when there are none."""
    if not conditions:
        return None
    writer = _Writer()
    return Predicate(" and ".join(map(writer.write, conditions)), writer.parameters)


class _Writer:
    def __init__(self) -> None:
        self.parameters: dict[str, Parameter] = {}

    def write(self, condition: IndexCondition) -> str:
        if condition.operator in _COMPARISONS:
            return self._compare(condition)
        value = condition.value
        listed = list(value) if isinstance(value, (list, tuple)) else [value]
        found = self._find_any(condition.field, listed)
        # Null without a tenant: `is not true` covers it.
        return found if condition.operator in {"eq", "in"} else f"({found}) is not true"

    def _find_any(self, name: str, listed: Sequence[object]) -> str:
        if name == TENANT:
            texts = [escape_text(one) for one in listed if isinstance(one, str)]
            return f"point.tenant = any({self._add(texts)}::text[])"
        # Two containments a value, joined by `or`: an index on the fields answers each.
        contained = [
            f"point.fields @> {self._add(write_value(name, one, in_list=in_list))}::jsonb"
            for one in listed
            if isinstance(one, (str, int, float)) and _is_storable(one)
            for in_list in (False, True)
        ]
        return f"({' or '.join(contained)})" if contained else _NOTHING

    def _compare(self, condition: IndexCondition) -> str:
        limit = condition.value
        if condition.field == TENANT or not isinstance(limit, (int, float)) or isinstance(limit, bool):
            return _NOTHING
        if math.isnan(limit):
            return _NOTHING
        value = f"point.fields -> {self._add(escape_text(condition.field))}::text"
        # jsonb also orders values of different types.
        is_number = f"coalesce(jsonb_typeof({value}) = 'number', false)"
        if math.isinf(limit):
            return is_number if (limit > 0) == condition.operator.startswith("lt") else _NOTHING
        comparison = _COMPARISONS[condition.operator]
        return f"({is_number} and {value} {comparison} {self._add(json.dumps(limit))}::jsonb)"

    def _add(self, value: Parameter) -> str:
        name = f"condition_{len(self.parameters)}"
        self.parameters[name] = value
        return f"%({name})s"


def _is_storable(value: str | float) -> bool:
    return isinstance(value, str) or math.isfinite(value)
