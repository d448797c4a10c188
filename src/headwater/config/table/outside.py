"""The sources in `from`: tables of the configuration, and `{hudi: ADDRESS}`, which another program writes."""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationInfo

from headwater.config.file_paths import resolve_path
from headwater.config.section import Section, SectionError

_SCHEME = re.compile(r"s3n?://")


class OutsideTable(Section):
    """A Hudi table outside the lake."""

    hudi: str = Field(
        min_length=1, description="Address of the table's folder, which contains `.hoodie`; or a local path."
    )
    as_: str | None = Field(
        None,
        alias="as",
        pattern=r"^[A-Za-z][A-Za-z0-9_]{0,127}$",
        description="Name of the table in SQL; required in a list of tables.",
    )


Source = str | OutsideTable
"""An entry of `from`: the name of a table or the address of one, or an address with a name."""


def read_sources(value: object, info: ValidationInfo) -> object:
    """Return `from` with Hadoop's scheme or an absolute path in each `{hudi: ADDRESS}`.

    A single one without a name becomes its address. Raises `SectionError` for values that are no sources.
    """
    if isinstance(value, list | tuple):
        problems = [((at,), _describe(entry)) for at, entry in enumerate(value) if not _is_source(entry)]
        if problems:
            raise SectionError(problems)
        return tuple(_read_outside_table(entry, info) for entry in value)
    if value is not None and not _is_source(value):
        raise SectionError([((), f"{_describe(value)}, or a list of them")])
    found = _read_outside_table(value, info)
    return found.hudi if isinstance(found, OutsideTable) and found.as_ is None else found


def _is_source(value: object) -> bool:
    return isinstance(value, str | Mapping | OutsideTable)


def _describe(value: object) -> str:
    return f"{value!r} is not allowed. Allowed: the name of a table, {{hudi: ADDRESS}}"


def _read_outside_table(value: object, info: ValidationInfo) -> object:
    if isinstance(value, OutsideTable):
        return value
    if not isinstance(value, Mapping):
        return value
    given = OutsideTable.model_validate(value)
    address = given.hudi.rstrip("/")
    if "://" in address:
        address = _SCHEME.sub("s3a://", address)
    else:
        address = str(resolve_path(Path(address), info).absolute())
    return given.model_copy(update={"hudi": address})


def is_outside(source: str) -> bool:
    """True for the address of a table, false for the name of one in the configuration."""
    return "/" in source
