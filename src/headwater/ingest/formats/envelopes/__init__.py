"""Envelopes of change records: each holds a row before and after a change, and what orders the changes."""

from headwater.ingest.formats.envelopes.envelope import (
    CHANGE,
    ENVELOPE_FIELDS,
    SEQUENCE_TEXT,
    Envelope,
    read_envelope,
)
from headwater.ingest.formats.envelopes.texts import unwrap_lines
from headwater.ingest.formats.envelopes.typed import unwrap_schema, unwrap_table

__all__ = [
    "CHANGE",
    "ENVELOPE_FIELDS",
    "SEQUENCE_TEXT",
    "Envelope",
    "read_envelope",
    "unwrap_lines",
    "unwrap_schema",
    "unwrap_table",
]
