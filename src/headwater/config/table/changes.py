"""`changes:` of a table: its records describe changes of a database's rows, not rows."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from headwater.config.section import Duration, FieldNames, Patterns, Section

_DAY = 86_400.0

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.S3.html
    "dms": {
        "op": "Op",
        "insert": ("I",),
        "update": ("U",),
        "delete": ("D",),
        "before_prefix": "BI_",
        "snapshot_path": ("**/LOAD*",),
    },
    # https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-events
    "debezium": {
        "op": "op",
        "insert": ("c", "r"),
        "update": ("u",),
        "delete": ("d",),
        "truncate": ("t",),
        "ignore": ("m",),
        "before": "before",
        "after": "after",
        # Each connector sets some of them: PostgreSQL, MySQL, SQL Server.
        "sequence": (
            *("source.lsn", "source.file", "source.pos", "source.row"),
            *("source.commit_lsn", "source.change_lsn", "source.event_serial_no"),
        ),
    },
    # A compacted topic: a message is the row of its key, and one without a value deletes it. The reader of
    # messages puts both into an envelope.
    "kafka": {
        "op": "op",
        "update": ("u",),
        "delete": ("d",),
        "before": "before",
        "after": "after",
        "sequence": ("offset",),
    },
    # https://maxwells-daemon.io/dataformat/
    "maxwell": {
        "op": "type",
        "insert": ("insert",),
        "update": ("update",),
        "delete": ("delete",),
        "snapshot": ("bootstrap-insert",),
        "ignore": (
            *("bootstrap-start", "bootstrap-complete", "heartbeat"),
            *("database-create", "database-alter", "database-drop"),
            *("table-create", "table-alter", "table-drop"),
        ),
        "before": "old",
        "after": "data",
        "sequence": ("ts", "xid", "xoffset"),
    },
}
"""What each preset sets, unless the table sets it."""


class ChangesConfig(Section):
    """Apply records as inserts, updates and deletes of rows, whatever the order of their files."""

    preset: Literal["dms", "debezium", "kafka", "maxwell"] | None = Field(
        None,
        description="Fields and operations of AWS DMS, Debezium or Maxwell; `kafka`: a message is the row of "
        "its key, and one without a value deletes it. Other keys of this section take precedence.",
    )
    op: str | None = Field(
        None,
        description="Field with the operation. With `after`, a field of the envelope; else a column of the "
        "objects, which the table does not get.",
    )
    insert: FieldNames = Field((), description="Operations that insert a row.")
    update: FieldNames = Field((), description="Operations that update a row.")
    delete: FieldNames = Field((), description="Operations that delete a row.")
    truncate: FieldNames = Field((), description="Operations that delete all rows.")
    snapshot: FieldNames = Field(
        (),
        description="Operations that copy an existing row, such as `bootstrap-insert`: older than any "
        "change.",
    )
    snapshot_path: Patterns = Field(
        (),
        description="Globs of the objects with existing rows, relative to the source. Their records are "
        "older than any change, and may lack the operation.",
    )
    ignore: FieldNames = Field((), description="Operations that change no row.")
    sequence: FieldNames = Field(
        (),
        description="Fields that order the changes of a row; the first differing one decides, nulls are "
        "lowest. Ties, and records without any, are ordered by the object's key, then by their place in it. "
        "With `after`, paths in the envelope, such as `source.lsn`.",
    )
    before: str | None = Field(
        None, description="Field of the envelope with the row before the change, or the changed part of it."
    )
    after: str | None = Field(
        None, description="Field of the envelope with the row after the change. Default: records are rows."
    )
    before_prefix: str = Field(
        "",
        description="Prefix of columns with the values before an update. If those of the record key differ, "
        "the row with the old key is deleted. None of them is a column of the table.",
    )
    table: str = Field(
        "",
        description="Read only the changes of this table, such as `shop.orders`, from envelopes of several "
        "tables.",
    )
    keep_tombstones: Duration = Field(
        30 * _DAY,
        description="How long deletes are remembered, to ignore older changes that arrive later. After that, "
        "such changes go to quarantine.",
    )

    @property
    def settled(self) -> "ChangesConfig":
        """Return the section with the values of its preset."""
        if self.preset is None:
            return self
        given = self.model_dump(include=self.model_fields_set - {"preset"})
        return type(self).model_validate({**PRESETS[self.preset], **given})

    @property
    def is_envelope(self) -> bool:
        """True if rows are fields of the records."""
        return self.settled.after is not None
