"""Puts the Avro schemas that a schema refers to into its text."""

import json
from collections.abc import Mapping
from typing import Any

from headwater.errors import ConfigError


def inline_references(text: str, references: Mapping[str, str], origin: str) -> str:
    """Return the schema with the definition of each referenced type where its name is first used.

    `references` are schemas by the full names of their types. Raises ConfigError for text that is not JSON.
    """
    if not references:
        return text
    try:
        open_ = {name: json.loads(below) for name, below in references.items()}
        return json.dumps(_Inlining(open_).apply(json.loads(text), ""))
    except ValueError as error:
        raise ConfigError(f"{origin}: not a schema of Avro: {error}", hint="correct the schema") from error


class _Inlining:
    """`waiting` are the definitions that no name has been replaced by yet."""

    def __init__(self, waiting: dict[str, Any]) -> None:
        self._waiting = waiting

    def apply(self, node: Any, namespace: str) -> Any:
        if isinstance(node, str):
            return self._replace(node, namespace)
        if isinstance(node, list):
            return [self.apply(branch, namespace) for branch in node]
        if not isinstance(node, dict):
            return node
        kind = node.get("type")
        if kind in ("record", "error"):
            inside = _find_namespace(node, namespace)
            fields = [{**field, "type": self.apply(field["type"], inside)} for field in node["fields"]]
            return {**node, "fields": fields}
        if kind in ("array", "map"):
            key = "items" if kind == "array" else "values"
            return {**node, key: self.apply(node[key], namespace)}
        return node if kind in ("enum", "fixed") else {**node, "type": self.apply(kind, namespace)}

    def _replace(self, name: str, namespace: str) -> Any:
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        full = full if full in self._waiting else name
        definition = self._waiting.pop(full, None)
        if definition is None:
            return name
        if isinstance(definition, dict) and "name" in definition:
            # Inside another record, a type without a namespace would take that of the record.
            definition = {**definition, "namespace": _find_namespace(definition, "")}
        return self.apply(definition, "")


def _find_namespace(node: Mapping[str, Any], around: str) -> str:
    if "." in node["name"]:
        return str(node["name"]).rpartition(".")[0]
    return str(node.get("namespace", around))
