"""Loads `Settings` from headwater.yaml, the environment and `--set`, or raises one error with all
problems."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from headwater.config.environment import (
    LAKE_NAME_VARIABLE,
    apply_overrides,
    parse_assignments,
    parse_environment,
    read_environment,
)
from headwater.config.extras.needs import Need, find_missing_extras
from headwater.config.extras.packages import format_install_command, is_installed
from headwater.config.lakes import ChosenLake, choose_lake
from headwater.config.problems.placeholders import iter_placeholder_problems
from headwater.config.problems.problem import Data, KeyPath, Problem, format_path, value_at
from headwater.config.settings import Settings
from headwater.config.validation_errors import explain, explain_combinations, repair_unknown_keys
from headwater.config.yaml_document import YamlDocument, parse_yaml
from headwater.errors import ConfigError, MissingExtraError
from headwater.observability.redaction import holds_secret, is_secret_name, redact_text

_log = logging.getLogger(__name__)

NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})
NO_SECRETS_HERE = (
    "secrets are not allowed in files or on the command line. Remove it: credentials come from AWS's default "
    "chain (AWS_PROFILE, AWS_ACCESS_KEY_ID, a role), other secrets from the environment"
)


def load_settings(
    path: Path,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] = NO_OVERRIDES,
    lake_name: str = "",
) -> Settings:
    """Read and check the configuration. `overrides` wins over `environ`, which wins over the file.

    `environ` is the process's environment by default; `overrides` are `--set` pairs, such as
    `{"source.queue.url": "https://..."}`. `lake_name` chooses one of several lakes of a file; without it, the
    variable HEADWATER_LAKE_NAME does. Raises `ConfigError` with one line per problem. Raises
    `MissingExtraError` when the only problem is a section whose extra is not installed.
    """
    environ = read_environment() if environ is None else environ
    name = lake_name or environ.get(LAKE_NAME_VARIABLE, "")
    return parse_settings(read_configuration(path), path, environ, overrides, lake_name=name)


def read_configuration(path: Path) -> str:
    """Return the text of a configuration file. Raises `ConfigError`."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        hint = "write one with headwater init, or name another with --config FILE or HEADWATER_CONFIG"
        raise ConfigError(f"{path}: file does not exist", hint=hint) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the file: {error.strerror}") from error


def parse_settings(
    text: str,
    path: Path,
    environ: Mapping[str, str],
    overrides: Mapping[str, str] = NO_OVERRIDES,
    *,
    lake_name: str = "",
    installed: Callable[[str], bool] = is_installed,
) -> Settings:
    """Parse a text as if it were stored at `path`; like `load_settings`, but reads nothing else.

    `installed` says whether an extra is installed.
    """
    return _check(parse_yaml(text), path, environ, overrides, lake_name, installed)


def build_settings(
    data: Mapping[str, object], name: str, environ: Mapping[str, str] | None = None
) -> Settings:
    """Check a configuration given as plain data; errors call it `name`. Paths are relative to this folder.

    Raises as `load_settings`.
    """
    environ = read_environment() if environ is None else environ
    return _check(YamlDocument(dict(data)), Path(name), environ)


def _check(
    document: YamlDocument,
    path: Path,
    environ: Mapping[str, str],
    overrides: Mapping[str, str] = NO_OVERRIDES,
    lake_name: str = "",
    installed: Callable[[str], bool] = is_installed,
) -> Settings:
    file, problems = _take_secrets(document.data, ())
    lake, unclear = choose_lake(file, lake_name)
    outside = [*parse_environment(environ), *parse_assignments(overrides)]
    data, origins = apply_overrides(lake.data, outside)
    lines = _Lines(path, document, file, lake, origins)
    problems += [*document.problems, *unclear, *_iter_set_secrets(data, origins)]
    problems += iter_placeholder_problems(data)
    settings = None
    # For a text that is not YAML, this would only add "everything is missing".
    if not unclear and (document.root is not None or not document.problems):
        settings, found = _validate(data, path.absolute().parent)
        problems += found
    if problems or settings is None:
        raise ConfigError("\n".join(lines.format(problems)), hint=_hint(problems))
    missing = find_missing_extras(settings, installed)
    if missing:
        command = format_install_command({need.extra for need in missing})
        raise MissingExtraError("\n".join(lines.format(map(_describe_need, missing))), hint=command)
    for line in lines.format(Problem(*found) for found in settings.iter_warnings()):
        _log.warning("%s", line)
    return settings


def _validate(data: Data, folder: Path) -> tuple[Settings | None, list[Problem]]:
    context = {"folder": folder}
    try:
        return Settings.model_validate(data, context=context), []
    except ValidationError as error:
        problems = explain(error, data)
        repaired = repair_unknown_keys(error, data)
    if repaired != data:
        try:
            Settings.model_validate(repaired, context=context)
        except ValidationError as error:
            problems += [item for item in explain_combinations(error, repaired) if item not in problems]
    return None, problems


def _take_secrets(data: Data, path: KeyPath) -> tuple[Data, list[Problem]]:
    """Return the data without secret keys, and a problem for each secret by name or by shape."""
    kept: Data = {}
    problems = []
    for key, value in data.items():
        here = (*path, key)
        if isinstance(value, dict):
            kept[key], below = _take_secrets(value, here)
            problems += below
        else:
            if _is_secret(key, value):
                problems.append(Problem(here, NO_SECRETS_HERE))
            if not is_secret_name(key):
                kept[key] = value
    return kept, problems


def _is_secret(key: str, value: object) -> bool:
    return value is not None and (is_secret_name(key) or any(map(holds_secret, _iter_texts(value))))


def _iter_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _iter_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _iter_texts(item)


def _iter_set_secrets(data: Data, origins: Mapping[KeyPath, str]) -> Iterator[Problem]:
    for path, origin in origins.items():
        if origin.startswith("--set") and _is_secret(str(path[-1]), value_at(data, path)):
            yield Problem(path, NO_SECRETS_HERE)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Formats problems with the place of each."""

    path: Path
    document: YamlDocument
    file: Data
    lake: ChosenLake
    origins: Mapping[KeyPath, str]

    def format(self, problems: Iterable[Problem]) -> list[str]:
        """Return one line per problem, in file order; problems from other origins come last."""
        lines: dict[str, tuple[int, int]] = {}
        for problem in problems:
            origin = _find_origin(problem.path, self.origins)
            key = problem.path if origin else self.lake.locate(problem.path, self.file)
            line = problem.line or self.document.line_of(key)
            where = origin or (f"{self.path}:{line}" if line else str(self.path))
            dotted = format_path(key)
            text = f"{where}: {dotted}: {problem.text}" if dotted else f"{where}: {problem.text}"
            lines.setdefault(redact_text(text), (1 if origin else 0, line or 0))
        return sorted(lines, key=lambda text: lines[text])


def _find_origin(path: KeyPath, origins: Mapping[KeyPath, str]) -> str | None:
    for length in range(len(path), 0, -1):
        if path[:length] in origins:
            return origins[path[:length]]
    return None


def _describe_need(need: Need) -> Problem:
    value = f"{need.value!r} " if need.value else ""
    return Problem(need.path, f"{value}requires the extra {need.extra!r}, which is not installed")


def _hint(problems: list[Problem]) -> str:
    what = "the problem" if len(problems) == 1 else f"the {len(problems)} problems"
    return f"fix {what}, then run headwater config check; list all keys with headwater config schema"
