"""Reads the statement of a `sql_file`."""

from pathlib import Path

from headwater.errors import ConfigError


def read_sql_file(path: Path) -> str:
    """Return the file's text. Raises `ConfigError` if it is missing, unreadable or empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read: {error.strerror}",
            hint="`sql_file` is relative to the folder of the configuration",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    if not text.strip():
        raise ConfigError(f"{path}: the file is empty", hint="write one SELECT over `input`")
    return text
