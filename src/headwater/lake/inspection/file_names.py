"""Parses data file names into file group, instant and kind."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["base", "log", "cdc"]

_BASE = re.compile(
    r"(?P<file_id>[^_]+)_(?P<token>\d+-\d+-\d+)_(?P<instant>\d{14,17})\.(?:parquet|orc|hfile|lance)"
)
_LOG = re.compile(r"\.(?P<file_id>.+)_(?P<instant>\d{14,17})\.log\.\d+(?:_\d+-\d+-\d+)?(?P<cdc>\.cdc)?")


@dataclass(frozen=True, slots=True)
class DataFileName:
    """The parts of a data file name; `instant` is the requested time of the action that wrote the file."""

    file_id: str
    instant: str
    kind: Kind


def parse_data_file_name(name: str) -> DataFileName | None:
    """Parse a data file name; None for files without rows, such as checksums and partition metadata."""
    base = _BASE.fullmatch(name)
    if base:
        return DataFileName(base["file_id"], base["instant"], "base")
    log = _LOG.fullmatch(name)
    if log:
        return DataFileName(log["file_id"], log["instant"], "cdc" if log["cdc"] else "log")
    return None
