"""Fingerprints the definition of a derived table."""

import inspect
import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from headwater.config.table import TableConfig
from headwater.lake.transforms.python_function import load_function
from headwater.lake.transforms.sql.file import read_sql_file


def build_definition(config: TableConfig) -> str:
    """Return a hash of the sources, the refresh mode, and the transforms with the files they reference.

    Excludes imports of Python functions and the salt of `hash`. Raises `ConfigError` for missing files and
    functions.
    """
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in config.transform]
    groups = [config.effective_group_key] if config.effective_group_key else []
    made_of = dict(config.inputs) if config.is_joined else config.sources[0]
    made_by = [
        made_of,
        config.effective_refresh,
        *groups,
        steps,
        *_iter_files(config),
        *_list_formats(config),
    ]
    return blake2b(json.dumps(made_by, sort_keys=True).encode(), digest_size=12).hexdigest()


def _list_formats(config: TableConfig) -> list[tuple[str, ...]]:
    """Return format and key of the sources that are no Hudi tables; their rows are identified by the key."""
    return [
        (address, table.format, *table.key)
        for address, table in config.outside_tables.items()
        if table.format != "hudi"
    ]


def _iter_files(config: TableConfig) -> Iterator[str]:
    for step in config.transform:
        if step.sql_file is not None:
            yield read_sql_file(step.sql_file)
        if step.python is not None:
            function = inspect.unwrap(load_function(step.python, step.folder))
            file = inspect.getsourcefile(function) if inspect.isfunction(function) else None
            yield Path(file).read_text(encoding="utf-8") if file else ""
