"""`source.clean_source`: what every type of source says and checks about it."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator

from headwater.config.section import SectionError

CLEAN_SOURCE = (
    "Action on objects that all of their tables ingested at least `clean_source_delay` ago; rows stay."
)
CLEAN_DELAY = "Minimum age of the last ingestion before cleaning: seconds or `12 hours`, `7d`."
_MIN_CLEAN_DELAY = 3_600.0


def read_off(value: object) -> object:
    """Return `off` for YAML 1.1's `off`, which is read as False."""
    return "off" if value is False else value


CleanAction = Annotated[
    Literal["off", "move", "delete"],
    BeforeValidator(read_off, json_schema_input_type=Literal["off", "move", "delete"]),
]
"""The actions on objects that have no tags."""


def format_target(address: str | None, scheme: str) -> str:
    """Return the target of moved objects as `bucket/prefix/`; empty without a target."""
    target = (address or "").removeprefix(f"{scheme}://").rstrip("/")
    return f"{target}/" if target else ""


def is_inside(target: str, bucket: str, source_prefix: str) -> bool:
    """True if objects moved to `target`, as `bucket/prefix/`, are in the source again."""
    target_bucket, _, prefix = target.partition("/")
    # A moved key is the target prefix followed by the whole original key.
    return target_bucket == bucket and f"{prefix}{source_prefix}".startswith(source_prefix)


def iter_clean_problems(
    action: str, delay: float, move_to: object, inside: bool
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield problems with their keys. `inside`: moved objects would be ingested again."""
    if action in ("move", "delete") and delay < _MIN_CLEAN_DELAY:
        yield (
            ("clean_source_delay",),
            f"{delay:g} seconds are too short for `clean_source: {action}`: a late event could no longer be "
            "checked against the object. Allowed: 1 hour or more",
        )
    if action == "move" and not move_to:
        yield ("clean_source_move_to",), "missing; `clean_source: move` requires a target location"
    elif action != "move" and move_to:
        yield ("clean_source_move_to",), f"not applicable with `clean_source: {action}`"
    elif inside:
        yield (
            ("clean_source_move_to",),
            f"{str(move_to)!r} is inside the source: moved objects would be ingested again; choose another "
            "bucket, or a location outside the source's prefix or folder",
        )


def ensure_usable_cleaning(action: str, delay: float, move_to: object, inside: bool) -> None:
    """Raise `SectionError` with the problems of `iter_clean_problems`, if there are any."""
    problems = list(iter_clean_problems(action, delay, move_to, inside))
    if problems:
        raise SectionError(problems)
