"""`reconcile:` how often the bucket's listing is compared with the events, and how gently."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from headwater.config.section import Section

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})s?", re.IGNORECASE)


def parse_duration(value: object) -> object:
    """Seconds of `90`, `12 hours`, `1 day`; 0 of `off`. Anything else is left to pydantic's own check."""
    if value is False:  # YAML 1.1's `off`
        return 0
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.lower() == "off":
        return 0
    found = _DURATION.fullmatch(text)
    if found:
        return float(found[1]) * _UNITS[found[2].lower()]
    if not re.fullmatch(r"\d+(?:\.\d+)?", text):
        raise ValueError("a duration is seconds, off, or a number and a unit such as `12 hours` or `1 day`")
    return text


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(ge=0),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}], "examples": ["1 day"]}),
]


class ReconcileConfig(Section):
    """When the bucket is listed to find what no notification told of, beside the live flow."""

    include_existing_files: bool = Field(
        True,
        description="List the bucket at the start of every run, objects from before the first run included; "
        "false: those stay out.",
    )
    backfill_interval: Duration = Field(
        86_400, description="From one listing to the next: seconds or `12 hours`, `1 day`; 0 or off: never."
    )
    settle_seconds: float = Field(
        60,
        ge=0,
        le=86_400,
        description="Objects younger than this are left to their notifications until the next listing.",
    )
    max_requests_per_second: float = Field(
        20, ge=0.1, le=3_500, description="Listing requests (of 1,000 objects each) a second, at most."
    )
    checkpoint_objects: int = Field(
        100_000, ge=1, description="Objects after which a listing that is cut short need not go back further."
    )
