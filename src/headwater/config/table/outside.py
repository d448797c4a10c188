"""The sources in `from`: tables of the configuration, and tables outside the lake, which another program
writes."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationInfo, model_validator

from headwater.config.file_paths import resolve_path
from headwater.config.section import FieldNames, Section, SectionError

_SCHEME = re.compile(r"s3n?://")

TableFormat = Literal["hudi", "delta", "iceberg"]
"""The format of a table outside the lake."""

FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)


class OutsideTable(Section):
    """A table outside the lake. Exactly one of `hudi`, `delta` and `iceberg` is required."""

    hudi: str | None = Field(
        None,
        min_length=1,
        description="Address of a Hudi table's folder, which contains `.hoodie`; or a local path.",
    )
    delta: str | None = Field(
        None,
        min_length=1,
        description="Address of a Delta table's folder, which contains `_delta_log`; or a local path.",
    )
    iceberg: str | None = Field(
        None,
        min_length=1,
        description="Address of an Iceberg table's folder, which contains `metadata`; or a local path. Or "
        "the address of one metadata file (`*.metadata.json`), whose snapshots never change.",
    )
    as_: str | None = Field(
        None,
        alias="as",
        pattern=r"^[A-Za-z][A-Za-z0-9_]{0,127}$",
        description="Name of the table in SQL; required in a list of tables.",
    )
    key: FieldNames = Field(
        (),
        description="Columns that identify a row of a Delta or Iceberg table; required for `refresh: "
        "changes`. A Hudi table has its own record key.",
    )

    @property
    def format(self) -> TableFormat:
        """Return the format of the table."""
        return next(name for name in FORMATS if getattr(self, name) is not None)

    @property
    def address(self) -> str:
        """Return the address of the table."""
        return str(getattr(self, self.format))

    @model_validator(mode="after")
    def _check_formats(self) -> "OutsideTable":
        given = [name for name in FORMATS if getattr(self, name) is not None]
        if len(given) != 1:
            shown = " and ".join(given) or "none of them"
            raise SectionError([((), f"requires one of {', '.join(FORMATS)}; {shown} is set")])
        if self.key and given == ["hudi"]:
            raise SectionError([(("key",), "not applicable to a Hudi table, which has its own record key")])
        return self


Source = str | OutsideTable
"""An entry of `from`: the name of a table or the address of a Hudi table, or an address with its format."""


def read_sources(value: object, info: ValidationInfo) -> object:
    """Return `from` with Hadoop's scheme or an absolute path in each `{hudi: ADDRESS}`, and so on.

    A single Hudi table without a name becomes its address. Raises `SectionError` for values that are no
    sources.
    """
    if isinstance(value, list | tuple):
        problems = [((at,), _describe(entry)) for at, entry in enumerate(value) if not _is_source(entry)]
        if problems:
            raise SectionError(problems)
        return tuple(_read_outside_table(entry, info) for entry in value)
    if value is not None and not _is_source(value):
        raise SectionError([((), f"{_describe(value)}, or a list of them")])
    found = _read_outside_table(value, info)
    is_only_address = isinstance(found, OutsideTable) and found.format == "hudi" and found.as_ is None
    return found.address if isinstance(found, OutsideTable) and is_only_address else found


def _is_source(value: object) -> bool:
    return isinstance(value, str | Mapping | OutsideTable)


def _describe(value: object) -> str:
    allowed = ", ".join(f"{{{name}: ADDRESS}}" for name in FORMATS)
    return f"{value!r} is not allowed. Allowed: the name of a table, {allowed}"


def _read_outside_table(value: object, info: ValidationInfo) -> object:
    if isinstance(value, OutsideTable):
        return value
    if not isinstance(value, Mapping):
        return value
    given = OutsideTable.model_validate(value)
    address = given.address.rstrip("/")
    if "://" in address:
        address = _SCHEME.sub("s3a://", address)
    else:
        address = str(resolve_path(Path(address), info).absolute())
    return given.model_copy(update={given.format: address})


def is_outside(source: str) -> bool:
    """True for the address of a table, false for the name of one in the configuration."""
    return "/" in source
