"""`Changes`: which keys of the configuration differ, and which of them a running process can apply. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from headwater.config.settings import Settings
from headwater.config.source import SourceConfig

FIXED = (
    "lake",
    "lake_storage",
    "lock",
    "observability",
    "slo",
    "source.bucket",
    "source.endpoint",
    "source.file_system_scheme",
    "source.moved_from",
    "source.path",
    "source.region",
    "source.type",
    "spark",
    "stop_timeout",
)
"""Sections and keys that a process reads once: the Spark session, the endpoints, the log and the lease have
them."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed keys, such as `tables.orders.path`; an added or removed section is one key, `tables.orders`.

    `applicable` take effect with a reload, `fixed` with the next start of the process.
    """

    applicable: tuple[str, ...]
    fixed: tuple[str, ...]


def find_changes(old: Settings, new: Settings) -> Changes:
    """Compare two configurations. Several sources, or another type of source, are fixed as a whole."""
    changed = sorted(_iter_changed(_dump(old), _dump(new)))
    whole = (*FIXED, "source") if {"source", "source.type"} & set(changed) else FIXED
    fixed = tuple(key for key in changed if _is_below(key, whole))
    return Changes(tuple(key for key in changed if key not in fixed), fixed)


def keep_fixed(old: Settings, new: Settings) -> Settings:
    """Return the new configuration with the fixed keys of the old one; it is not validated again."""
    source = old.source
    # Of several sources, none of the keys can change.
    if not isinstance(source, tuple) and type(new.source) is type(source):
        kept = {name: getattr(source, name) for name in _list_fixed_source(source)}
        source = new.source.model_copy(update=kept)
    sections = {name: getattr(old, name) for name in FIXED if "." not in name}
    return new.model_copy(update={**sections, "source": source})


def _list_fixed_source(source: SourceConfig) -> list[str]:
    names = [key.partition(".")[2] for key in FIXED if key.startswith("source.")]
    return [name for name in names if hasattr(source, name)]


def _dump(settings: Settings) -> Mapping[str, Any]:
    return settings.model_dump(mode="json", by_alias=True)


def _iter_changed(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name in old.keys() | new.keys():
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if _is_section(before) and _is_section(after):
            yield from _iter_changed(before, after, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _is_section(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict)


def _is_below(key: str, sections: Collection[str]) -> bool:
    return any(key == section or key.startswith(f"{section}.") for section in sections)
