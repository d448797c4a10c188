"""Words that a shell can complete, from the text of the configuration.

A shell waits for each of them: nothing here validates a configuration, which takes three times as long as all
the rest. An unreadable configuration has no words.
"""

from collections.abc import Mapping
from pathlib import Path

from headwater.config.config_path import LAKE_NAME_VARIABLE, find_config_path, read_environment
from headwater.config.lakes import LAKES, choose_lake, list_lakes
from headwater.config.problems.problem import Data
from headwater.config.yaml_document import parse_yaml
from headwater.errors import HeadwaterError

KEYS_PATH = Path(__file__).with_name("keys.txt")
"""All keys of the configuration, one a line; written by `python -m headwater.config.reference`."""

ANY_NAME = "*"
"""In a key: the name of a table."""


def list_table_names(given: Path | None, lake_name: str = "") -> list[str]:
    """Return the names of the configured tables; of several lakes, those of the chosen one, else of all."""
    data = _read(given)
    wanted = lake_name or read_environment().get(LAKE_NAME_VARIABLE, "")
    lakes = list_lakes(data) or [""]
    chosen = [choose_lake(data, name)[0].data for name in ([wanted] if wanted in lakes else lakes)]
    return list(dict.fromkeys(name for lake in chosen for name in _list_names(lake.get("tables"))))


def list_source_names(given: Path | None) -> list[str]:
    """Return the names of the sources of a list."""
    sources = _read(given).get("source")
    found = sources if isinstance(sources, list) else [sources]
    return [str(one["name"]) for one in found if isinstance(one, Mapping) and "name" in one]


def list_lake_names(given: Path | None) -> list[str]:
    """Return the names of several lakes."""
    return list_lakes(_read(given))


def list_setting_keys(given: Path | None, lake_name: str = "") -> list[str]:
    """Return the dotted keys for `--set`, with the names of the configured tables."""
    tables = list_table_names(given, lake_name)
    return [
        key.replace(f".{ANY_NAME}", f".{name}", 1)
        for key in KEYS_PATH.read_text(encoding="utf-8").split()
        for name in (tables if f".{ANY_NAME}" in key else [""])
        if not key.startswith(f"{LAKES}.")
    ]


def _list_names(section: object) -> list[str]:
    return [str(name) for name in section] if isinstance(section, Mapping) else []


def _read(given: Path | None) -> Data:
    try:
        return parse_yaml(find_config_path(given).read_text(encoding="utf-8")).data
    except (OSError, ValueError, HeadwaterError):
        return {}
