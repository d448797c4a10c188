"""Bucket x events x ledger x rows: what is true of each object of one table. Pure, memory flat.

All streams are in the order of their keys by UTF-8 bytes, which for text is Python's own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from headwater.capture.listers.protocol import ListedObject
from headwater.ingest.planning.ledger_entry import LedgerEntry

FindingKind = Literal[
    "ingested", "pending", "skipped", "quarantined", "missing", "extra", "wrong_version", "wrong_rows"
]
GOOD_KINDS = frozenset({"ingested", "pending", "skipped"})
_DECIDED = frozenset({"ingested", "skipped", "quarantined"})
# The object was there before, or something but its content has changed; what lies there now is not decided.
_UNDECIDED_REASONS = frozenset({"removal_ignored", "not_content"})
REPAIRABLE_KINDS = frozenset({"missing", "extra", "wrong_version", "wrong_rows"})


@dataclass(frozen=True, slots=True)
class TableRules:
    """`follows_removals`: rows of a removed object go. `counts_rows`: an object's rows stay its own, so they
    can be counted (not in a merge, where another object may write over them)."""

    follows_removals: bool
    counts_rows: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One object. `detail` says what was expected and what is there."""

    kind: FindingKind
    key: str
    detail: str = ""
    present: ListedObject | None = None


@dataclass(slots=True)
class TableVerification:
    """Objects by finding; an object is counted once. `oldest_open` is the oldest change not in the table."""

    ingested: int = 0
    pending: int = 0
    skipped: int = 0
    quarantined: int = 0
    missing: int = 0
    extra: int = 0
    wrong_version: int = 0
    wrong_rows: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    oldest_open: datetime | None = None

    def add(self, finding: Finding) -> None:
        """Count one object."""
        setattr(self, finding.kind, getattr(self, finding.kind) + 1)
        if finding.kind in ("skipped", "quarantined"):
            self.reasons[finding.detail] += 1
        if finding.kind not in ("pending", "missing", "wrong_version") or finding.present is None:
            return
        when = finding.present.last_modified
        self.oldest_open = when if self.oldest_open is None else min(when, self.oldest_open)

    @property
    def is_complete(self) -> bool:
        """Whether the table equals the bucket, but for what is on its way."""
        bad = (self.quarantined, self.missing, self.extra, self.wrong_version, self.wrong_rows)
        return not any(bad)


def verify_objects(
    present: Iterable[ListedObject],
    entries: Iterable[LedgerEntry],
    rows: Iterable[tuple[str, Mapping[str, int]]],
    pending: Iterable[str],
    quarantined: Mapping[str, str],
    rules: TableRules,
) -> Iterator[Finding]:
    """One finding for each object that any of the streams knows, in the order of keys.

    `rows` are a key's rows by version, `pending` keys of events behind the checkpoint, `quarantined` reasons
    by key of objects that the ledger need not know.
    """
    streams = merge(
        ((found.key, 0, found) for found in present),
        ((entry.key, 1, entry) for entry in entries),
        ((key, 2, by_version) for key, by_version in rows),
        ((key, 3, True) for key in pending),
        key=itemgetter(0, 1),
    )
    for key, group in groupby(streams, key=itemgetter(0)):
        parts: dict[int, Any] = {index: value for _, index, value in group}
        known = _Known(parts.get(1), parts.get(2) or {}, 3 in parts, quarantined.get(key))
        listed = parts.get(0)
        finding = _find_absent(key, known, rules) if listed is None else _find_present(listed, known, rules)
        if finding is not None:
            yield finding


@dataclass(frozen=True, slots=True)
class _Known:
    """What we have of one object."""

    entry: LedgerEntry | None
    rows: Mapping[str, int]
    is_pending: bool
    quarantined: str | None


def _find_present(listed: ListedObject, known: _Known, rules: TableRules) -> Finding:
    open_kind, open_detail = _find_open(listed, known)
    if open_kind is not None:
        if known.is_pending:
            return Finding("pending", listed.key, "its event waits", listed)
        return Finding(open_kind, listed.key, open_detail, listed)
    entry = known.entry
    if entry is None or entry.status == "quarantined":
        reason = known.quarantined if entry is None else entry.reason
        return Finding("quarantined", listed.key, reason or "quarantined", listed)
    if entry.status != "ingested":
        return Finding("skipped", listed.key, entry.reason or entry.status, listed)
    found = known.rows.get(entry.version, 0)
    if rules.counts_rows and found != entry.rows:
        detail = f"it gave {entry.rows} rows, the table has {found}"
        return Finding("wrong_rows", listed.key, detail, listed)
    return Finding("ingested", listed.key, "", listed)


def _find_open(listed: ListedObject, known: _Known) -> tuple[FindingKind | None, str]:
    """Whether the table has not yet decided about what lies there, and what that is called."""
    entry = known.entry
    if entry is None:
        return (None, "") if known.quarantined is not None else ("missing", "no event has told of it")
    if entry.status not in _DECIDED or entry.reason in _UNDECIDED_REASONS:
        return "missing", f"the ledger has it as {entry.reason or entry.status}"
    if entry.etag and entry.etag != listed.etag:
        return "wrong_version", f"applied {entry.etag}, the bucket has {listed.etag}"
    return None, ""


def _find_absent(key: str, known: _Known, rules: TableRules) -> Finding | None:
    """An object that is not in the bucket: only rows that should have gone with it are wrong."""
    count = sum(known.rows.values())
    is_applied = known.entry is not None and known.entry.status == "ingested" and not rules.counts_rows
    if not rules.follows_removals or not (count or is_applied):
        return None
    if known.is_pending:
        return Finding("pending", key, "its removal waits")
    return Finding("extra", key, f"the bucket has no such object, the table has {count} rows of it")
