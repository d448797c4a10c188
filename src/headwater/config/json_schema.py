"""The configuration's JSON Schema, for editors and for the allowed values in errors."""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache

from headwater.config.lakes import LAKES
from headwater.config.problems.problem import KeyPath, value_at
from headwater.config.settings import Settings
from headwater.config.source import ONE, SEVERAL

Schema = dict[str, object]


def build_json_schema() -> Schema:
    """Return the JSON Schema (2020-12) of headwater.yaml, as a new dict."""
    schema = deepcopy(_settings_schema())
    required = schema.pop("required")
    keys = _mapping(schema["properties"])
    lake = {"type": "object", "additionalProperties": False, "properties": dict(keys)}
    description = (
        "Several lakes by name, each with the keys of a file that has one lake. Keys next to `lakes` are "
        "shared; those of the lake take precedence. `headwater --lake-name NAME ...` chooses one."
    )
    lakes = {"type": "object", "description": description, "minProperties": 1, "additionalProperties": lake}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "headwater.yaml",
        **{key: value for key, value in schema.items() if key != "title"},
        "properties": {**keys, LAKES: lakes},
        # A lake of a file with several may have its keys from both places.
        "if": {"required": [LAKES]},
        "else": {"required": required},
    }


@lru_cache(maxsize=1)
def _settings_schema() -> Schema:
    schema = Settings.model_json_schema(mode="validation")
    return dict(schema)


def schema_at(path: KeyPath, data: object = None) -> Schema:
    """Return the schema at a path; empty for an unknown path.

    `data` is the configuration so far: its `type:` selects the kind of source.
    """
    node = _settings_schema()
    for depth, part in enumerate(path):
        node = _child(_choose(node, value_at(data, path[:depth])), part)
    return _choose(node, value_at(data, path))


def resolve(node: object) -> Schema:
    """Return a schema node with its reference resolved; siblings of the reference are kept."""
    schema = _mapping(node)
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    definitions = _mapping(_settings_schema().get("$defs"))
    followed = _mapping(definitions[reference.removeprefix("#/$defs/")])
    return {**followed, **{key: value for key, value in schema.items() if key != "$ref"}}


def strip_tags(location: KeyPath) -> KeyPath:
    """Convert a pydantic error location to the path in the YAML, without union tags and marks."""
    path: list[str | int] = []
    node = _settings_schema()
    for part in location:
        variants = _variants(resolve(node))
        if part in variants:
            node = variants[str(part)]
        elif part not in ("[key]", ONE, SEVERAL):
            path.append(part)
            node = _child(node, part)
    return tuple(path)


def list_tags(path: KeyPath) -> list[str]:
    """Return the values of `type:` that select the variants of a section; empty without variants."""
    node = _settings_schema()
    for part in path:
        node = _child(node, part)
    return sorted(_variants(node))


def list_required(node: Schema) -> list[str]:
    """Return the required keys of a section."""
    required = node.get("required")
    return [str(key) for key in required] if isinstance(required, list) else []


def list_keys(node: Schema) -> list[str]:
    """Return the allowed keys of a mapping; those of every variant if none is selected."""
    node = resolve(node)
    variants = _variants(node).values()
    found = [key for part in (node, *map(resolve, variants)) for key in _mapping(part.get("properties"))]
    return sorted(set(found))


def list_choices(node: Schema) -> list[str]:
    """Return the allowed words of a value; empty when it is no enum."""
    return [str(word) for option in _options(node) for word in _words(option)]


def is_text_map(node: Schema) -> bool:
    """True if the keys are free, such as Spark's own option names."""
    return isinstance(node.get("additionalProperties"), dict)


def takes_only_text(node: Schema) -> bool:
    """True if a number or `true` given here means text."""
    types = {option.get("type") for option in _options(node)}
    return "string" in types and types.isdisjoint({"integer", "number", "boolean"})


def takes_container(node: Schema) -> bool:
    """True if a list or a mapping is allowed."""
    if _variants(node):
        return True
    return any(option.get("type") in ("array", "object") for option in _options(node))


def describe_type(node: Schema) -> str:
    """Describe what is allowed, in words: `a whole number from 0 to 20`."""
    choices = list_choices(node)
    if choices:
        return ", ".join(choices)
    keys = list_keys(node)
    if keys:
        return f"a mapping with the keys {', '.join(keys)}"
    words = [_describe_option(option) for option in _options(node)]
    return " or ".join(dict.fromkeys(word for word in words if word))


def _describe_option(option: Schema) -> str:
    kind = option.get("type")
    if kind in ("integer", "number"):
        return ("a whole number" if kind == "integer" else "a number") + _describe_range(option)
    examples = option.get("examples")
    if kind == "string":
        return f"text such as {examples[0]!r}" if isinstance(examples, list) else "text"
    if kind == "object":
        return f"a mapping such as {json.dumps(examples[0])}" if isinstance(examples, list) else "a mapping"
    if kind == "array" and "properties" in resolve(option.get("items")):
        return "a list of sections"
    return {"boolean": "true or false", "array": "a list of texts"}.get(str(kind), "")


def _describe_range(option: Schema) -> str:
    low, high = option.get("minimum"), option.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" of at least {low}" if low is not None else ""


def _options(node: Schema) -> Iterator[Schema]:
    """Yield what `node` allows, except null; choices may be nested."""
    node = resolve(node)
    choices = node.get("anyOf", node.get("oneOf"))
    if not isinstance(choices, list) or "discriminator" in node:
        if node.get("type") != "null":
            yield node
        return
    examples = {"examples": node["examples"]} if node.get("examples") else {}
    for choice in choices:
        yield from ({**examples, **option} for option in _options(choice))


def _words(option: Schema) -> list[object]:
    words = option.get("enum", [option["const"]] if "const" in option else [])
    return words if isinstance(words, list) else []


def _variants(node: Schema) -> dict[str, Schema]:
    mapping = _mapping(_mapping(node.get("discriminator")).get("mapping"))
    if not mapping and isinstance(forms := node.get("oneOf"), list):
        # One section, or a list of them.
        return {tag: variant for form in forms for tag, variant in _variants(resolve(form)).items()}
    return {tag: {"$ref": reference} for tag, reference in mapping.items()}


def _unwrap(node: Schema) -> Schema:
    """Return the section of an optional section."""
    node = resolve(node)
    sections = [option for option in _options(node) if "properties" in option] if "anyOf" in node else []
    return sections[0] if sections else node


def _choose(node: Schema, data: object) -> Schema:
    node = _unwrap(node)
    tag = data.get("type") if isinstance(data, dict) else None
    variant = _variants(node).get(tag) if isinstance(tag, str) else None
    return resolve(variant) if variant is not None else node


def _child(node: Schema, part: str | int) -> Schema:
    node = _unwrap(node)
    if isinstance(part, int):
        items = [option.get("items") for option in _options(node) if "items" in option]
        return resolve(items[0]) if items else {}
    for variant in _variants(node).values():
        found = _child(variant, part)
        if found:
            return found
    named = _mapping(node.get("properties")).get(part)
    if named is not None:
        return resolve(named)
    by_pattern = list(_mapping(node.get("patternProperties")).values())
    return resolve(by_pattern[0] if by_pattern else node.get("additionalProperties"))


def _mapping(value: object) -> Schema:
    return value if isinstance(value, dict) else {}
