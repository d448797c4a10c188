"""`complete_when:` of a table: the files below one folder are a set, and count only when it is complete."""

import re
from collections.abc import Sequence
from typing import Annotated

import bracex
from pydantic import BeforeValidator, Field

from headwater.config.section import Duration, Section

_WILDCARD = re.compile(r"[*?\[{\\]")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def _read_share(value: object) -> object:
    """Return 0.5 of `50%`. Pydantic checks any other value."""
    found = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(found[1]) / 100 if found else value


Share = Annotated[float, BeforeValidator(_read_share, json_schema_input_type=float | str), Field(ge=0, le=1)]


class CompleteWhen(Section):
    """When a set of files is complete: all given conditions hold. The table then becomes equal to it."""

    folder: str | None = Field(
        None,
        description="Glob of the folders that hold one set each, relative to the source, such as "
        "`customers/dump_date=*`. Default: the folder of `path`, up to its only part with a wildcard.",
    )
    marker: str | None = Field(
        None,
        description="Name or glob of a file that is written after the files of its set, such as `_SUCCESS`.",
    )
    manifest: str | None = Field(
        None,
        description="Name or glob of a file that lists the files of its set, and is written after them; "
        "other files are not part of it. JSON or lines of text.",
    )
    files: int | None = Field(None, ge=1, description="Number of files of a set.")
    quiet_for: Duration | None = Field(
        None, description="Time since the last change of a file of the set, such as `10 minutes`."
    )
    max_shrink: Share = Field(
        0.5,
        description="Share of the rows that the next set may lack; a smaller set is held back in quarantine. "
        "1 accepts any set.",
    )


def find_set_folder(paths: Sequence[str]) -> str | None:
    """Return the glob of folders with one set each that `path` implies; None if it implies none, or several.

    It ends at the only part with a wildcard, other than `**`; without one, before `**` or the file's name.
    """
    found = {_find_folder(path) for pattern in paths for path in bracex.iexpand(pattern)}
    return found.pop() if len(found) == 1 else None


def _find_folder(path: str) -> str | None:
    folders = path.split("/")[:-1]
    if "**" in folders:
        last = folders.index("**")
        if any(_WILDCARD.search(part) for part in folders[last + 1 :]):
            return None
        folders = folders[:last]
    wild = [at for at, part in enumerate(folders) if _WILDCARD.search(part)]
    if len(wild) > 1:
        return None
    return "/".join(folders[: wild[0] + 1] if wild else folders)
