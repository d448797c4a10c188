"""Values from outside the file: environment variables and `--set`. Nothing else reads os.environ."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headwater.config.config_path import (
    CONFIG_VARIABLE,
    DEFAULT_CONFIG_NAME,
    LAKE_NAME_VARIABLE,
    find_config_path,
    read_environment,
)
from headwater.config.json_schema import (
    Schema,
    is_text_map,
    list_keys,
    schema_at,
    takes_container,
    takes_only_text,
)
from headwater.config.problems.problem import Data, KeyPath, format_path, value_at
from headwater.config.yaml_document import parse_scalar
from headwater.errors import ConfigError

__all__ = [
    "CONFIG_VARIABLE",
    "DEFAULT_CONFIG_NAME",
    "LAKE_NAME_VARIABLE",
    "PREFIX",
    "Override",
    "apply_overrides",
    "find_config_path",
    "find_state_folder",
    "overlaid_environment",
    "parse_assignments",
    "parse_environment",
    "read_environment",
    "set_default",
    "split_assignments",
    "temporary_environment",
]

PREFIX = "HEADWATER__"


@dataclass(frozen=True, slots=True)
class Override:
    """A value for one key; `parts` as written; `origin` is the source that errors name."""

    parts: tuple[str, ...]
    text: str
    origin: str


def find_state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of files that outlive a run: `$XDG_STATE_HOME/headwater`.

    A user without a home folder, as in some containers, keeps them among the temporary files. See
    https://specifications.freedesktop.org/basedir-spec/latest/.
    """
    state = environ.get("XDG_STATE_HOME", "")
    if state.startswith("/"):
        return Path(state, "headwater")
    try:
        return Path("~/.local/state/headwater").expanduser()
    except RuntimeError:
        return Path(tempfile.gettempdir(), "headwater-state")


def parse_environment(environ: Mapping[str, str]) -> list[Override]:
    """Parse `HEADWATER__SOURCE__QUEUE__URL=...` into overrides, in the order of their names."""
    return [
        Override(tuple(name[len(PREFIX) :].split("__")), text, f"environment variable {name}")
        for name, text in sorted(environ.items())
        if name.upper().startswith(PREFIX) and len(name) > len(PREFIX)
    ]


def parse_assignments(assignments: Mapping[str, str]) -> list[Override]:
    """Parse `a.b=c` pairs of `--set` into overrides."""
    return [Override(tuple(key.split(".")), text, f"--set {key}") for key, text in assignments.items()]


def split_assignments(pairs: Iterable[str]) -> dict[str, str]:
    """Split `["a.b=c"]` into `{"a.b": "c"}`; the last of equal keys wins.

    Raises `ConfigError` for a text without a key or without `=`.
    """
    found = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not all(part.strip() for part in key.split(".")):
            raise ConfigError(
                f"--set {pair} is not KEY=VALUE", hint="write, for example, --set lake=/data/lake"
            )
        found[key.strip()] = text
    return found


def apply_overrides(data: Data, overrides: Iterable[Override]) -> tuple[Data, dict[KeyPath, str]]:
    """Return `data` with the overrides applied (later ones win), and the origin of each overridden path.

    Raises `ConfigError` for a key in a list.
    """
    origins = {}
    for override in overrides:
        path = _resolve_path(override.parts, data)
        _refuse_part_of_list(path, data, override.origin)
        data = _with_value(data, path, _parse_value(override.text, schema_at(path, data)))
        origins[path] = override.origin
    return data, origins


def _refuse_part_of_list(path: KeyPath, data: Data, origin: str) -> None:
    """Raise `ConfigError` for a key in a list, which would replace the whole list."""
    for length in range(1, len(path)):
        if isinstance(value_at(data, path[:length]), list):
            name = format_path(path[:length])
            raise ConfigError(
                f"{origin}: {name} is a list, and only the list as a whole can be set",
                hint=f"change {name} in the file, or set it as JSON: --set '{name}=[...]'",
            )


def _resolve_path(parts: tuple[str, ...], data: Data) -> KeyPath:
    path: tuple[str, ...] = ()
    for index, part in enumerate(parts):
        node = schema_at(path, data)
        here = value_at(data, path)
        known = [*list_keys(node), *(here if isinstance(here, dict) else ())]
        if is_text_map(node):
            # Keys such as `spark.sql.shuffle.partitions` contain the separator.
            return (*path, _match_key(".".join(parts[index:]), known))
        path = (*path, _match_key(part, known))
    return path


def _match_key(part: str, known: list[str]) -> str:
    if part in known:
        return part
    same = [key for key in known if key.lower() == part.lower()]
    # Shells and Kubernetes prefer upper case; no key of ours has it.
    return same[0] if same else part.lower() if part.isupper() else part


def _parse_value(text: str, node: Schema) -> object:
    if takes_container(node):
        container = _parse_json_container(text)
        if container is not None:
            return container
    return text if text and takes_only_text(node) else parse_scalar(text)


def _parse_json_container(text: str) -> object | None:
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value: object = json.loads(text)
    except ValueError:
        # A glob such as `[ab]*.json` or `{a,b}.csv`: plain text.
        return None
    return value


def _with_value(data: Data, path: KeyPath, value: object) -> Data:
    key, rest = str(path[0]), path[1:]
    if not rest:
        return {**data, key: value}
    below = data.get(key)
    return {**data, key: _with_value(below if isinstance(below, dict) else {}, rest, value)}


@contextmanager
def temporary_environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables of this process inside the block, for libraries without another setting.

    None unsets a variable.
    """
    before = {name: os.environ.get(name) for name in values}
    _set_variables(values)
    try:
        yield
    finally:
        _set_variables(before)


def set_default(name: str, value: str) -> None:
    """Set a variable for a library that is loaded later, unless it is set. Call it before threads start."""
    os.environ.setdefault(name, value)


@contextmanager
def overlaid_environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables inside the block for Python's own readers of `os.environ`. Safe next to other threads.

    C libraries read variables at any time, such as libcurl for each request, and crash if another thread adds
    one at that moment. A child process gets these variables only if its `env` is made from `os.environ`. What
    is set inside the block ends with it.
    """
    before = os.environ
    os.environ = {**before, **values}  # type: ignore[assignment]  # noqa: B003 - the real one must not change
    try:
        yield
    finally:
        os.environ = before  # noqa: B003 - as before


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
