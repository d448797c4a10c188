"""Explains pydantic's errors in terms of the YAML file."""

from collections.abc import Iterator

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from headwater.config.json_schema import (
    describe_type,
    list_choices,
    list_keys,
    list_required,
    list_tags,
    schema_at,
    strip_tags,
)
from headwater.config.problems.nearest import find_nearest
from headwater.config.problems.problem import Data, KeyPath, Problem, format_path, value_at
from headwater.config.section import SectionError
from headwater.observability.redaction import REDACTED, is_secret_name, redact_text

MAX_VALUE_CHARS = 60


def explain(error: ValidationError, data: Data) -> list[Problem]:
    """Return every problem of a failed validation of `data`, with its path in the YAML."""
    return [problem for details in error.errors(include_url=False) for problem in _explain(details, data)]


def explain_combinations(error: ValidationError, data: Data) -> list[Problem]:
    """Return only the problems of combinations of keys."""
    return [
        problem
        for details in error.errors(include_url=False)
        if isinstance(details.get("ctx", {}).get("error"), SectionError)
        for problem in _explain(details, data)
    ]


def repair_unknown_keys(error: ValidationError, data: Data) -> Data:
    """Return `data` with each unknown key renamed to its near match, else removed.

    Validating the result finds problems that pydantic does not report with unknown keys.
    """
    unchanged = data
    for details in error.errors(include_url=False):
        if details["type"] == "extra_forbidden":
            path = strip_tags(details["loc"])
            key = str(path[-1])
            meant = None if "." in key else find_nearest(key, _list_allowed_siblings(path, unchanged))
            data = _rename(data, path, meant)
    return data


def _rename(data: Data, path: KeyPath, meant: str | None) -> Data:
    key, rest = str(path[0]), path[1:]
    value = data[key]
    if rest and isinstance(value, dict):
        return {**data, key: _rename(value, rest, meant)}
    if len(rest) > 1 and isinstance(value, list):
        # A section in a list: the next part is its index.
        at = int(rest[0])
        return {**data, key: [*value[:at], _rename(value[at], rest[1:], meant), *value[at + 1 :]]}
    others = {name: item for name, item in data.items() if name != key}
    return {meant: value, **others} if meant else others


def _list_allowed_siblings(path: KeyPath, data: object) -> list[str]:
    return list_keys(schema_at(path[:-1], data))


def _explain(details: ErrorDetails, data: Data) -> Iterator[Problem]:
    path = strip_tags(details["loc"])
    kind = details["type"]
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, SectionError):
        for below, text in cause.problems:
            yield Problem((*path, *below), text)
    elif cause is not None:
        yield Problem(path, str(cause))
    elif kind == "missing":
        yield from _explain_missing(path, data)
    elif kind == "extra_forbidden":
        yield Problem(path, _explain_unknown(path, data))
    elif kind == "union_tag_not_found":
        yield from _explain_missing(path, data)
    elif kind == "union_tag_invalid":
        tags = list_tags(path)
        tag = value_at(data, (*path, "type"))
        yield Problem(
            (*path, "type"), _say_not_allowed(_format_value(("type",), tag), str(tag), tags, ", ".join(tags))
        )
    elif details["loc"][-1:] == ("[key]",):
        text = f"{path[-1]!r} is not a valid name. Allowed: letters, digits and `_`, starting with a letter"
        yield Problem(path, text)
    elif kind == "too_short":
        yield Problem(path, "empty; specify at least one entry")
    else:
        yield Problem(path, _explain_value(path, details["input"], data))


def _explain_missing(path: KeyPath, data: Data) -> Iterator[Problem]:
    node = schema_at(path, data)
    tags = list_tags(path)
    below = ["type"] if tags else list_required(node)
    if below:
        # `source.queue` cannot be set as a whole; `source.queue.url` can.
        for key in below:
            yield from _explain_missing((*path, key), data)
        return
    tags = list_tags(path[:-1]) if path[-1] == "type" else []
    variable = "HEADWATER__" + "__".join(str(part).upper() for part in path)
    text = (
        f"required but not set. Set it in the file, with the environment variable {variable}, or with --set "
        f"{format_path(path)}=VALUE"
    )
    if any(isinstance(part, int) for part in path):
        # Only a list as a whole can be set from outside the file.
        text = "required but not set"
    allowed = ", ".join(tags) or describe_type(node)
    yield Problem(path, f"{text}. Allowed: {allowed}" if allowed else text)


def _explain_unknown(path: KeyPath, data: Data) -> str:
    key = str(path[-1])
    allowed = _list_allowed_siblings(path, data)
    text = f"unknown key {key!r}."
    prefix, dot, _ = key.partition(".")
    if dot and prefix in ("hoodie", "spark"):
        section = "hoodie" if prefix == "hoodie" else "config"
        if section in allowed:
            return f"{text} Put it below `{section}:`"
    meant = find_nearest(key, allowed)
    if meant:
        text += f" Did you mean {meant!r}?"
    return f"{text} Allowed: {', '.join(allowed)}"


def _explain_value(path: KeyPath, value: object, data: Data) -> str:
    node = schema_at(path, data)
    allowed = describe_type(node)
    if isinstance(value, (bool, int, float)) and allowed.startswith("text"):
        allowed += " (put it in quotes)"
    return _say_not_allowed(_format_value(path, value), str(value), list_choices(node), allowed)


def _say_not_allowed(shown: str, word: str, choices: list[str], allowed: str) -> str:
    text = f"{shown} is not allowed."
    meant = find_nearest(word, choices)
    if meant:
        text += f" Did you mean {meant!r}?"
    return f"{text} Allowed: {allowed}" if allowed else text


def _format_value(path: KeyPath, value: object) -> str:
    if is_secret_name(str(path[-1]) if path else ""):
        return REDACTED
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = "true" if value is True else "false" if value is False else repr(value)
    text = redact_text(text)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}..."
