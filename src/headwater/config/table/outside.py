"""`from: {hudi: ADDRESS}`: a Hudi table that another program writes, as the source of a derived table."""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationInfo

from headwater.config.file_paths import resolve_path
from headwater.config.section import Section

_SCHEME = re.compile(r"s3n?://")


class OutsideTable(Section):
    """A Hudi table outside the lake."""

    hudi: str = Field(
        min_length=1, description="Address of the table's folder, which contains `.hoodie`; or a local path."
    )


def read_outside_table(value: object, info: ValidationInfo) -> object:
    """Return the address in `{hudi: ADDRESS}`, with Hadoop's scheme, or as an absolute path."""
    if not isinstance(value, Mapping):
        return value
    address = OutsideTable.model_validate(value).hudi.rstrip("/")
    if "://" in address:
        return _SCHEME.sub("s3a://", address)
    return str(resolve_path(Path(address), info).absolute())


def is_outside(source: str) -> bool:
    """True for the address of a table, false for the name of one in the configuration."""
    return "/" in source
