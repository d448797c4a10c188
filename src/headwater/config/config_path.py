"""Where the configuration is: `--config`, the environment, or the current folder. Imports nothing heavy."""

import os
from collections.abc import Mapping
from pathlib import Path

CONFIG_VARIABLE = "HEADWATER_CONFIG"
LAKE_NAME_VARIABLE = "HEADWATER_LAKE_NAME"
DEFAULT_CONFIG_NAME = "headwater.yaml"


def read_environment() -> Mapping[str, str]:
    """Return the process's environment."""
    return os.environ


def find_config_path(given: Path | None, environ: Mapping[str, str] | None = None) -> Path:
    """Return the configuration file: as given, else HEADWATER_CONFIG, else headwater.yaml here."""
    environ = read_environment() if environ is None else environ
    return given or Path(environ.get(CONFIG_VARIABLE) or DEFAULT_CONFIG_NAME).expanduser()
