"""Checks a folder as a source: that it exists and is readable."""

import os

from headwater.config.source import LocalSourceConfig
from headwater.errors import SourceError
from headwater.sources.finding import SetupFinding, Status, to_finding

NAME = "source.path"


def ensure_folder(source: LocalSourceConfig) -> None:
    """Raises `SourceError` if the folder is missing, not a folder or unreadable."""
    path = source.path
    if not path.exists():
        raise SourceError(f"the source folder {path} does not exist", hint="make it, or correct source.path")
    if not path.is_dir():
        raise SourceError(f"the source {path} is not a folder", hint="name its folder in source.path")
    # A folder needs both: r to list it, x to access its entries.
    if not os.access(path, os.R_OK | os.X_OK):
        raise SourceError(
            f"the source folder {path} may not be read", hint=f"give this user the right: chmod u+rx {path}"
        )


def check_local_source(source: LocalSourceConfig) -> list[SetupFinding]:
    """Returns one finding."""
    try:
        ensure_folder(source)
    except SourceError as error:
        return [to_finding(NAME, error)]
    readable = SetupFinding(NAME, "ok", f"{source.path} can be read")
    return [readable, *_check_cleaning(source)]


def _check_cleaning(source: LocalSourceConfig) -> list[SetupFinding]:
    if source.clean_source == "off":
        return []
    name, days = "source.clean_source", source.clean_source_delay / 86_400
    if not os.access(source.path, os.W_OK):
        fix = f"give this user the right: chmod u+w {source.path}, or set clean_source to off"
        return [SetupFinding(name, "problem", f"files may not be taken out of {source.path}", fix)]
    done = f"moved to {source.clean_source_move_to}" if source.clean_source == "move" else "deleted for good"
    status: Status = "ok" if source.clean_source == "move" else "warning"
    fix = "" if status == "ok" else "set clean_source to move to keep them elsewhere"
    return [
        SetupFinding(name, status, f"{days:g} days after a file is in all of its tables it is {done}", fix)
    ]
