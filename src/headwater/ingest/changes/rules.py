"""`ChangeRules`: how a table's records describe changes."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql.types import StringType, StructField, StructType

from headwater.config.table import TableConfig
from headwater.config.table.changes import ChangesConfig
from headwater.ingest.columns.schema import check_names, check_ordering
from headwater.ingest.formats.envelopes import ENVELOPE_FIELDS, Envelope
from headwater.ingest.formats.envelopes.envelope import ChangeKind
from headwater.ingest.planning.selection import compile_globs, matches

SEQUENCE = "_headwater_sequence"
"""The column of a table of changes that orders the changes of a row: see `build_sequence`."""

ENVELOPE_SCHEMA = StructType([StructField(name, StringType()) for name in ENVELOPE_FIELDS])

_KINDS: Mapping[str, ChangeKind] = {
    "insert": "upsert",
    "update": "upsert",
    "delete": "delete",
    "truncate": "truncate",
    "snapshot": "snapshot",
    "ignore": "ignore",
}


@dataclass(frozen=True)
class ChangeRules:
    """The settled section `changes` of one table, and its record key."""

    table: str
    config: ChangesConfig
    record_key: tuple[str, ...]

    @classmethod
    def of(cls, name: str, table: TableConfig) -> "ChangeRules | None":
        """Return the rules of a table; None if its records are rows."""
        if table.changes is None:
            return None
        return cls(name, table.changes.settled, tuple(table.record_key))

    @property
    def envelope(self) -> Envelope | None:
        """The envelope of the records; None if they are rows with an operation."""
        config = self.config
        if config.after is None:
            return None
        return Envelope(
            op=config.op or "",
            before=config.before or "",
            after=config.after,
            sequence=config.sequence,
            keys=self.record_key,
            kinds=dict(self.kinds),
            table=config.table,
        )

    @property
    def reader_options(self) -> Mapping[str, str]:
        """The options with which the table's reader unwraps its records."""
        return self.envelope.to_option() if self.envelope else {}

    @cached_property
    def kinds(self) -> Mapping[str, ChangeKind]:
        """What each operation does."""
        return {operation: kind for name, kind in _KINDS.items() for operation in getattr(self.config, name)}

    @property
    def order(self) -> str:
        """The fields that order changes; texts built from others cannot be compared with a table's."""
        return json.dumps(self.config.sequence)

    def is_snapshot(self, key: str) -> bool:
        """True for an object with existing rows, by its key below the source's prefix."""
        return any(matches(pattern, key) for pattern in self._snapshot_globs)

    @cached_property
    def _snapshot_globs(self) -> Sequence[re.Pattern[str]]:
        return compile_globs(self.config.snapshot_path) if self.config.snapshot_path else []

    def is_own(self, column: str) -> bool:
        """True for a field of the records that is not a column of the table."""
        config = self.config
        if config.after is not None:
            return column in ENVELOPE_FIELDS
        return column == config.op or bool(config.before_prefix and column.startswith(config.before_prefix))

    def check_columns(self, schema: StructType) -> None:
        """Raise `ConfigError` for wrong names in the section; `schema` are the columns of the records."""
        config = self.config
        if config.after is not None:
            return
        check_ordering(self.table, schema, config.sequence, "changes.sequence")
        # Files of existing rows may lack the operation and what orders changes.
        if config.op in schema.fieldNames() or not config.snapshot_path:
            needed = {"changes.op": (config.op or "",), "changes.sequence": config.sequence}
            check_names(self.table, schema, needed, ())
