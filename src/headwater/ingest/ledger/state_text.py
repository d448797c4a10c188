"""Converts states of objects to plain values and text: times in microseconds, unknown values omitted."""

import json
import string
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from typing import Any

from headwater.ingest.planning.ledger_entry import LedgerEntry

TIMES = frozenset({"event_time", "first_seen", "looked_at"})
NAMES = tuple(field.name for field in fields(LedgerEntry))
LETTERS = dict(zip(NAMES, string.ascii_letters, strict=False))
"""The name of a field in the text: names would be a third of it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def parse_state(values: Mapping[str, Any]) -> LedgerEntry:
    """Build a state from values by field name; None or absent values are as in a new state."""
    known = {name: value for name, value in values.items() if value is not None}
    for name in TIMES & known.keys():
        known[name] = _EPOCH + timedelta(microseconds=known[name])
    return LedgerEntry(**known)


def parse_state_text(text: str) -> LedgerEntry:
    """Parse the result of `format_state`."""
    values = json.loads(text)
    return parse_state({name: values.get(letter) for name, letter in LETTERS.items()})


def format_state(state: LedgerEntry) -> str:
    """Return a JSON object, as Spark's `to_json` does for the ledger's row."""
    values: dict[str, Any] = {name: getattr(state, name) for name in NAMES}
    for name in TIMES:
        time = values[name]
        values[name] = None if time is None else (time - _EPOCH) // _MICROSECOND
    return json.dumps({LETTERS[name]: value for name, value in values.items() if value is not None})
