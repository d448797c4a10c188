"""Reads the edited file as if it were in place of the current one, and puts it there."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.config.environment import read_environment
from headwater.config.loader import parse_settings, read_configuration
from headwater.config.settings import Settings
from headwater.errors import ConfigError

_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class NewFile:
    """The edited file: its text is what was rehearsed, whatever happens to the file later. `replaced` is the
    text of the current one."""

    text: str
    settings: Settings
    replaced: str


def read_new_file(current: Path, new: Path, overrides: Mapping[str, str], lake_name: str) -> NewFile:
    """Read and check the edited file. Relative paths belong to the folder of the current file.

    Raises `ConfigError`; messages name the edited file.
    """
    text = read_configuration(new)
    place = current.with_name(new.name)
    settings = parse_settings(text, place, read_environment(), overrides, lake_name=lake_name)
    return NewFile(text, settings, read_configuration(current))


def replace_file(current: Path, new: NewFile) -> Path:
    """Replace the current file atomically; return where its previous text is.

    Raises `ConfigError` if it was edited since `read_new_file`, or cannot be written.
    """
    if read_configuration(current) != new.replaced:
        raise ConfigError(
            f"{current}: the file was edited during the rehearsal",
            hint="repeat the rehearsal with the new text",
        )
    try:
        backup = _find_free(current)
        backup.write_text(new.replaced, encoding="utf-8")
        written = current.with_name(f".{current.name}.new")
        written.write_text(new.text, encoding="utf-8")
        written.replace(current)
    except OSError as error:
        raise ConfigError(f"{current}: cannot replace the file: {error.strerror}") from error
    return backup


def _find_free(current: Path) -> Path:
    names = (current.with_name(f"{current.name}.before-{number}") for number in range(1, _KEPT))
    return next(name for name in names if not name.exists())
