"""Every option of the pinned Hudi bundle, from a list that `scripts/write_hudi_options.py` writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import TypeAdapter

DATA_FILE = Path(__file__).with_name("hudi_options.json")

Kind = Literal["boolean", "integer", "number", "choice", "text"]


@dataclass(frozen=True, slots=True)
class KnownOption:
    """One option. `values` are those of an enum; `alternatives` are older names that Hudi still accepts.

    `default` and `doc` are Hudi's own texts; `since` and `deprecated` are versions of Hudi, `replaced_by` the
    key to use instead; `group` is the declaring class. Unknown values are empty, an unknown default None.
    """

    key: str
    kind: Kind
    default: str | None = None
    values: tuple[str, ...] = ()
    since: str = ""
    deprecated: str = ""
    replaced_by: str = ""
    alternatives: tuple[str, ...] = ()
    group: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class KnownOptions:
    """All options of one bundle: by key, and the key of each older name."""

    bundle: str
    by_key: Mapping[str, KnownOption]
    renamed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _DataFile:
    bundle: str
    options: tuple[KnownOption, ...]


@lru_cache(maxsize=1)
def load_known_options() -> KnownOptions:
    """Return the shipped list; read on first use."""
    data = TypeAdapter(_DataFile).validate_json(DATA_FILE.read_bytes())
    by_key = {option.key: option for option in data.options}
    renamed = {
        name: option.key for option in data.options for name in option.alternatives if name not in by_key
    }
    return KnownOptions(data.bundle, MappingProxyType(by_key), MappingProxyType(renamed))
