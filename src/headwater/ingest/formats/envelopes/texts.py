"""Unwraps envelopes of JSON text to rows, whose values keep their text. Pure."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headwater.ingest.formats.envelopes.envelope import CHANGE, SEQUENCE_TEXT, Envelope
from headwater.ingest.formats.envelopes.sequence import SequenceError, join_sequence
from headwater.ingest.formats.json_values import Member, NumberText, RepeatedNameError, split_object
from headwater.ingest.formats.markers import (
    BAD_SEQUENCE,
    MARKER,
    NO_ROW,
    REPEATED_NAME,
    UNAVAILABLE_VALUE,
    UNKNOWN_CHANGE,
)
from headwater.ingest.formats.protocol import Lines

UNAVAILABLE = ("__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==")
"""What Debezium sends for a large value of PostgreSQL that an update leaves unchanged: text, and bytes."""

_SHOWN_TABLES = 5
_OF_MARKS = frozenset({"BEGIN", "END"})
_LAST_IN_TRANSACTION = NumberText(2**53)


def unwrap_lines(lines: Lines, envelope: Envelope) -> Lines:
    """Return one record per change of a row, two for a change of its key; mark what cannot be applied.

    Texts that are no envelopes, and marked ones, stay: the record parser reports them. What concerns no row
    of the table is left out: Debezium's tombstones, heartbeats, limits of transactions and changes of
    schemas, and other tables' changes.
    """
    others: Counter[str] = Counter()
    found = [
        (number, record)
        for number, text in zip(lines.row_numbers, lines.texts, strict=True)
        for record in _unwrap(text, envelope, others)
    ]
    note = "; ".join(filter(None, (lines.note, describe_others(others))))
    numbers, texts = [number for number, _ in found], [text for _, text in found]
    return replace(lines, row_numbers=numbers, texts=texts, note=note)


@dataclass(frozen=True, slots=True)
class _Change:
    """The parts of an envelope. `text` is all of it."""

    text: str
    members: Mapping[str, Member]

    def find(self, path: str) -> Any:
        """Return the value at a dotted path; None without one."""
        name, _, below = path.partition(".")
        member = self.members.get(name)
        value = member.value if member else None
        for part in below.split(".") if below else ():
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def find_row(self, name: str) -> Member | None:
        """Return a row; None if the field is absent or null."""
        member = self.members.get(name)
        return member if member and isinstance(member.value, dict) else None


def _unwrap(text: str, envelope: Envelope, others: Counter[str]) -> Iterator[str]:
    if text.startswith(MARKER):
        yield text
        return
    if text.strip() == "null":
        return
    try:
        change = _split(text, envelope)
    except RepeatedNameError:
        yield REPEATED_NAME + text
        return
    except (ValueError, RecursionError):
        yield text
        return
    if change is not None:
        yield from _apply(change, envelope, others)


def _split(text: str, envelope: Envelope) -> _Change | None:
    """Return the change; None for a tombstone. With Kafka Connect's schemas, the envelope is `payload`."""
    members = split_object(text)
    payload = members.get("payload")
    if payload is None or envelope.after in members:
        return _Change(text, members)
    return None if payload.value is None else _Change(text, split_object(payload.text))


def _apply(change: _Change, envelope: Envelope, others: Counter[str]) -> Iterator[str]:
    operation = change.find(envelope.op)
    if operation is None and is_notice(change.members):
        return
    kind = envelope.kinds.get(operation) if isinstance(operation, str) else None
    if kind is None:
        yield UNKNOWN_CHANGE + change.text
    elif kind != "ignore":
        names = list_table_names(change.find) if envelope.table else [""]
        if envelope.table not in names:
            others[names[-1]] += 1
            return
        try:
            sequence = join_sequence(find_sequence(change.find, envelope.sequence))
        except SequenceError:
            yield BAD_SEQUENCE + change.text
            return
        yield from _build(change, kind, sequence, envelope)


def _build(change: _Change, kind: str, sequence: str, envelope: Envelope) -> Iterator[str]:
    if kind == "truncate":
        yield _write(kind, sequence, "{}")
        return
    before, after = change.find_row(envelope.before), change.find_row(envelope.after)
    row = (before or after) if kind == "delete" else after
    if row is None:
        yield NO_ROW + change.text
    elif kind == "delete":
        yield _write(kind, sequence, row.text)
    elif any(value in row.text for value in UNAVAILABLE):
        yield UNAVAILABLE_VALUE + change.text
    else:
        if before and (old := find_old_key(before.value, row.value, envelope.keys)):
            yield _write("delete", sequence, _write_row(old))
        yield _write(kind, sequence, row.text)


def find_sequence(find: Any, paths: tuple[str, ...]) -> Iterator[object]:
    """Yield the values that order a change. `find` returns the value at a path."""
    for path in paths:
        value = find(path)
        if value is None and path == "xoffset" and find("commit") is True:
            # Maxwell numbers the changes of a transaction, but not the last one.
            value = _LAST_IN_TRANSACTION
        yield value


def find_old_key(
    before: Mapping[str, Any], after: Mapping[str, Any], keys: tuple[str, ...]
) -> dict[str, Any]:
    """Return the old key of a row if the change has another one; else empty.

    A row before may have only its key, or only what changed.
    """
    old = {key: after.get(key) if before.get(key) is None else before[key] for key in keys}
    return old if any(old[key] != after.get(key) for key in keys) else {}


def is_notice(members: Mapping[str, object]) -> bool:
    """True for messages of Debezium that concern no row: heartbeats, transactions, changes of schemas."""
    names = members.keys()
    if names == {"ts_ms"} or {"ddl", "databaseName"} <= names:
        return True
    status = members.get("status")
    return "id" in names and (status.value if isinstance(status, Member) else status) in _OF_MARKS


def list_table_names(find: Any) -> list[str]:
    """Return the names of a change's table: `table`, `database.table` and `schema.table`. `find` as above."""
    name = find("source.table") or find("table") or "unknown"
    spaces = (find("database"), find("source.db"), find("source.schema"))
    return [name, *(f"{space}.{name}" for space in spaces if space)]


def describe_others(others: Counter[str]) -> str:
    """Return a sentence about changes of tables that were not selected; empty without any."""
    if not others:
        return ""
    shown = ", ".join(sorted(others)[:_SHOWN_TABLES])
    return f"{others.total()} changes of other tables are left out: {shown}"


def _write(kind: str, sequence: str, row: str) -> str:
    head = f'{{"{CHANGE}":"{kind}","{SEQUENCE_TEXT}":{json.dumps(sequence, ensure_ascii=False)}'
    body = row[1:].lstrip()
    return f"{head}}}" if body == "}" else f"{head},{body}"


def _write_row(row: Mapping[str, Any]) -> str:
    fields = (f"{json.dumps(name, ensure_ascii=False)}:{_write_value(value)}" for name, value in row.items())
    return "{" + ",".join(fields) + "}"


def _write_value(value: Any) -> str:
    return str(value) if isinstance(value, NumberText) else json.dumps(value, ensure_ascii=False)
