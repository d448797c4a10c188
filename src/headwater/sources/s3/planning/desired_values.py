"""Desired values of JSON attributes; keeps values that already satisfy them. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Statement = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SameJson:
    """Equal JSON in any notation; numbers may be text, as in SQS."""

    value: str

    def settle(self, found: str) -> str:
        """See `DesiredValue.settle`."""
        try:
            is_same = _normalize(json.loads(found)) == _normalize(json.loads(self.value))
        except ValueError:
            is_same = False
        return found if is_same else self.value


@dataclass(frozen=True, slots=True)
class PolicyWith:
    """A policy with these statements; statements with other Sids are kept in their order.

    `retired` are Sids of ours that are no longer desired.
    """

    statements: tuple[Statement, ...]
    retired: frozenset[str] = frozenset()

    def settle(self, found: str) -> str:
        """See `DesiredValue.settle`. Text that is not a policy is replaced."""
        policy = _parse_object(found)
        present = list_statements(policy)
        wanted = {str(statement["Sid"]): statement for statement in self.statements}
        own = {str(item.get("Sid")): item for item in present if item.get("Sid") in wanted}
        is_there = own.keys() == wanted.keys() and all(_is_same(own[sid], wanted[sid]) for sid in wanted)
        if is_there and not any(item.get("Sid") in self.retired for item in present):
            return found
        replaced = self.retired | wanted.keys()
        kept = [item for item in present if item.get("Sid") not in replaced]
        merged = {"Version": "2012-10-17", **policy, "Statement": [*kept, *self.statements]}
        return json.dumps(merged) if merged["Statement"] else ""


def list_statements(policy: Mapping[str, object]) -> Sequence[Statement]:
    """List the statements of a policy, which may hold a single one without a list."""
    found = policy.get("Statement", [])
    return [item for item in (found if isinstance(found, list) else [found]) if isinstance(item, dict)]


def _is_same(one: Statement, other: Statement) -> bool:
    """True if two statements are equivalent: AWS may return one in another notation."""
    return _canonize(one) == _canonize(other)


def _canonize(value: object, key: str = "") -> object:
    if isinstance(value, Mapping):
        return {name: _canonize(item, str(name)) for name, item in value.items()}
    if key == "Principal" and value == "*":
        return {"AWS": frozenset({"*"})}
    if key in ("Effect", "Sid", "Principal"):
        return value
    texts = value if isinstance(value, list) else [value]
    return frozenset(str(text).lower() if key == "Action" else str(text) for text in texts)


def _parse_object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _normalize(value: object) -> object:
    if isinstance(value, dict):
        return {key: _normalize(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_normalize(item) for item in value]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
