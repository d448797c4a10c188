"""Checks a folder as a source: that it exists and is readable."""

import os

from headwater.config.source import LocalSourceConfig
from headwater.errors import SourceError
from headwater.sources.finding import SetupFinding, Status, to_finding

NAME = "source.path"


def ensure_folder(source: LocalSourceConfig) -> None:
    """Raise `SourceError` if the folder is missing, not a folder or unreadable."""
    path = source.path
    if not path.exists():
        raise SourceError(
            f"the source folder {path} does not exist", hint="create it, or correct source.path"
        )
    if not path.is_dir():
        raise SourceError(f"the source {path} is not a folder", hint="set source.path to a folder")
    # A folder needs both: r to list it, x to access its entries.
    if not os.access(path, os.R_OK | os.X_OK):
        raise SourceError(
            f"no permission to read the source folder {path}",
            hint=f"grant this user read permission: chmod u+rx {path}",
        )


def check_local_source(source: LocalSourceConfig) -> list[SetupFinding]:
    """Return one finding."""
    try:
        ensure_folder(source)
    except SourceError as error:
        return [to_finding(NAME, error)]
    readable = SetupFinding(NAME, "ok", f"{source.path} is readable")
    return [readable, *_check_cleaning(source)]


def _check_cleaning(source: LocalSourceConfig) -> list[SetupFinding]:
    if source.clean_source == "off":
        return []
    name, days = "source.clean_source", source.clean_source_delay / 86_400
    if not os.access(source.path, os.W_OK):
        fix = f"grant this user write permission: chmod u+w {source.path}, or set clean_source to off"
        return [SetupFinding(name, "problem", f"no permission to remove files from {source.path}", fix)]
    done = (
        f"moved to {source.clean_source_move_to}" if source.clean_source == "move" else "deleted permanently"
    )
    status: Status = "ok" if source.clean_source == "move" else "warning"
    fix = "" if status == "ok" else "set clean_source to move to keep a copy"
    detail = f"a file is {done} {days:g} days after all of its tables contain it"
    return [SetupFinding(name, status, detail, fix)]
