"""`Envelope`: where change records have operation, row and order, and what an operation does. Pure."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Literal

from headwater.ingest.formats.reader_options import ReaderOptions

CHANGE = "__headwater_change"
"""Field of an unwrapped record with its `ChangeKind`, or with `FAULT` and the reason to reject the record."""
SEQUENCE_TEXT = "__headwater_sequence"
"""Field with the text of `join_sequence`."""
ENVELOPE_FIELDS = (CHANGE, SEQUENCE_TEXT)
"""The fields that unwrapped records have besides those of the row: texts."""
FAULT = "?"

ChangeKind = Literal["upsert", "snapshot", "delete", "truncate", "ignore"]

_OPTION = "headwater.envelope"


@dataclass(frozen=True, slots=True)
class Envelope:
    """Paths in the envelope, and `kinds` by operation. `keys` are the columns of the primary key.

    `table`: only changes of this table are records; empty for all.
    """

    op: str
    before: str
    after: str
    sequence: tuple[str, ...]
    keys: tuple[str, ...]
    kinds: Mapping[str, str]
    table: str = ""

    def to_option(self) -> dict[str, str]:
        """Return the reader option that carries the envelope to executors."""
        return {_OPTION: json.dumps(asdict(self))}


def read_envelope(options: ReaderOptions) -> Envelope | None:
    """Return the envelope in a reader's options; None without one."""
    text = options.text(_OPTION)
    return _parse(text) if text else None


@cache
def _parse(text: str) -> Envelope:
    found = json.loads(text)
    return Envelope(**found | {"sequence": tuple(found["sequence"]), "keys": tuple(found["keys"])})
