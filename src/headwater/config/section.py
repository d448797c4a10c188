"""The base of every section: frozen, unknown keys rejected, descriptions become the reference page."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, WithJsonSchema, model_validator

from headwater.config.problems.nearest import find_nearest


class Section(BaseModel):
    """A part of the configuration. Unknown keys are errors; defaults are validated too."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _take_empty_as_absent(cls, given: object) -> object:
        # `spark:` with all keys commented out is null in YAML; it means "the defaults".
        if given is None:
            return {}
        if not isinstance(given, dict):
            return given
        known = {field.alias or name for name, field in cls.model_fields.items()}
        return {key: value for key, value in given.items() if value is not None or key not in known}


class SectionError(ValueError):
    """Problems of several keys in combination.

    Each is a key below the section (as a path) and a sentence, and becomes a separate line.
    """

    def __init__(self, problems: Sequence[tuple[tuple[str | int, ...], str]]) -> None:
        super().__init__("; ".join(text for _, text in problems))
        self.problems = tuple(problems)


def split_at_commas(value: object) -> object:
    """Return the parts of a text as a tuple, any other value unchanged."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _wrap_in_tuple(value: object) -> object:
    # Not split at commas, which are legal in a key and in a brace pattern.
    return (value,) if isinstance(value, str) else value


def _write_scalars_as_text(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {key: _write_scalar_as_text(item) for key, item in value.items()}


def _write_scalar_as_text(item: object) -> object:
    if isinstance(item, bool):
        return "true" if item else "false"
    return str(item) if isinstance(item, (int, float)) else item


_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?)\s*(?:({'|'.join(_UNITS)})s?|([smhdw]))", re.IGNORECASE)


def parse_duration(value: object) -> object:
    """Return the seconds of `90`, `12 hours`, `7d`; 0 for `off`. Pydantic checks any other value."""
    if value is False:  # YAML 1.1's `off`
        return 0
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.lower() == "off":
        return 0
    found = _DURATION.fullmatch(text)
    if found:
        unit = (found[2] or found[3]).lower()
        return float(found[1]) * next(seconds for name, seconds in _UNITS.items() if name.startswith(unit))
    if not re.fullmatch(r"\d+(?:\.\d+)?", text):
        raise ValueError(
            "not a duration. Allowed: seconds, off, or a number with a unit such as `12 hours` or `1 day`"
        )
    return text


_TIMES = "a time such as `2026-01-31` or `2026-01-31T12:00:00Z`, which is in UTC without a zone"


def parse_time(value: object) -> datetime:
    """Return the time of ISO 8601 text, in UTC without a zone. Raises `ValueError`."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    try:
        time = value if isinstance(value, datetime) else _parse_text(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{value!r} is not allowed. Allowed: {_TIMES}") from error
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _parse_text(value: object) -> datetime:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    # Python 3.10 does not parse Z.
    return datetime.fromisoformat(re.sub("[zZ]$", "+00:00", value.strip()))


def parse_start(value: object) -> object:
    """Return `latest`, `earliest`, or the time. Raises `ValueError`."""
    if value in ("latest", "earliest"):
        return value
    try:
        return parse_time(value)
    except ValueError as error:
        near = find_nearest(str(value), ("latest", "earliest"))
        meant = f" Did you mean {near!r}?" if near else ""
        text = f"{value!r} is not allowed.{meant} Allowed: latest, earliest, or {_TIMES}"
        raise ValueError(text) from error


OneOrMany = str | list[str]
TextMapInput = dict[str, str | int | float | bool]

FieldNames = Annotated[tuple[str, ...], BeforeValidator(split_at_commas, json_schema_input_type=OneOrMany)]
Patterns = Annotated[tuple[str, ...], BeforeValidator(_wrap_in_tuple, json_schema_input_type=OneOrMany)]
TextMap = Annotated[
    dict[str, str], BeforeValidator(_write_scalars_as_text, json_schema_input_type=TextMapInput)
]
ByteCount = Annotated[
    ByteSize,
    Field(ge=1),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}], "examples": ["64MiB", 67108864]}
    ),
]
Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(ge=0),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}], "examples": ["1 day"]}),
]
Instant = Annotated[
    datetime,
    BeforeValidator(parse_time),
    WithJsonSchema({"type": "string", "examples": ["2026-01-31T12:00:00Z"]}),
]
StartFrom = Annotated[
    Literal["latest", "earliest"] | datetime,
    BeforeValidator(parse_start),
    WithJsonSchema({"type": "string", "examples": ["latest", "earliest", "2026-01-31T12:00:00Z"]}),
]
