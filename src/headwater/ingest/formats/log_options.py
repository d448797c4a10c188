"""`LogOptions`: what becomes of messages besides their values. Pure."""

import json
from dataclasses import asdict, dataclass
from functools import cache
from typing import Literal

from headwater.config.table import TableConfig
from headwater.ingest.formats.reader_options import ReaderOptions

Tombstones = Literal["delete", "leave_out", "reject"]

_OPTION = "headwater.log"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """`columns` are those of the message that a record gets: see `COLUMN_TYPES` in `config.table.messages`.

    `tombstones` delete the row of their key, whose columns are `keys`; or no record, or a rejected one,
    comes from them.
    """

    columns: tuple[str, ...] = ()
    tombstones: Tombstones = "leave_out"
    keys: tuple[str, ...] = ()

    def to_option(self) -> dict[str, str]:
        """Return the reader option that carries them to executors."""
        return {_OPTION: json.dumps(asdict(self))}


def build_log_options(table: TableConfig) -> LogOptions:
    """Return the options of a table."""
    tombstones: Tombstones = "leave_out"
    if table.changes is not None and table.changes.preset == "kafka":
        tombstones = "delete"
    elif table.changes is None and table.effective_mode == "merge":
        # It would delete a row: to leave it out would be wrong without a word.
        tombstones = "reject"
    return LogOptions(tuple(table.message_columns), tombstones, tuple(table.record_key))


def read_log_options(options: ReaderOptions) -> LogOptions:
    """Return the options of a reader."""
    text = options.text(_OPTION)
    return _parse(text) if text else LogOptions()


@cache
def _parse(text: str) -> LogOptions:
    found = json.loads(text)
    return LogOptions(tuple(found["columns"]), found["tombstones"], tuple(found["keys"]))
