"""Verifies each object of each table: bucket x events x ledger x rows. Pure, constant memory.

All streams are in the order of their keys by UTF-8 bytes, which for text is Python's own.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from headwater.ingest.planning.ledger_entry import CLEANED, CLOCK_MARGIN, LedgerEntry, is_cleaned
from headwater.ingest.planning.lost_rows import LostRows, sum_lost
from headwater.ingest.planning.window import OUTSIDE_WINDOW
from headwater.sources.lister import ListedObject
from headwater.sources.object_event import is_same_etag

FindingKind = Literal[
    "ingested", "pending", "skipped", "quarantined", "missing", "extra", "wrong_version", "wrong_rows"
]
GOOD_KINDS = frozenset({"ingested", "pending", "skipped"})
_DECIDED = frozenset({"ingested", "skipped", "quarantined"})
# The object existed before, or its content is unchanged; the current object is undecided.
# So is one that was outside a window which has changed.
_UNDECIDED_REASONS = frozenset({"removal_ignored", "not_content", OUTSIDE_WINDOW})
SKIPPED = "skipped by `start_from` or `skip-to`"
ADOPTED = "adopted: the previous pipeline has processed it"
REPAIRABLE_KINDS = frozenset({"missing", "extra", "wrong_version", "wrong_rows"})


WriteCounts = Mapping[str, Sequence[int]]
"""By version of one object: the rows of each write, unordered. In an append table the same content may have
been written more than once. Rows marked as removed do not count.
"""


@dataclass(frozen=True, slots=True)
class TableRules:
    """`follows_removals`: rows of a removed object are removed. `counts_rows`: an object's rows stay its own
    and can be counted (not in a merge, where another object may overwrite them). `adds_rows`: content that is
    put again has its rows once more. `applies_changes`: its records are changes. `has_sets`: it has the rows
    of one set of objects.

    `judge_place` judges a key by the state of the set that its file belongs to; None if the file itself must
    be in the table.
    """

    follows_removals: bool
    counts_rows: bool
    adds_rows: bool = False
    applies_changes: bool = False
    has_sets: bool = False
    judge_place: Callable[[str], tuple[FindingKind, str] | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Finding:
    """One object. `detail` compares the expected with the actual state. `entry` is the ledger's for an
    ingested object in the bucket. `bucket` is the bucket's name in the lake.
    """

    kind: FindingKind
    key: str
    detail: str = ""
    present: ListedObject | None = None
    entry: LedgerEntry | None = None
    bucket: str = ""

    @property
    def is_repairable(self) -> bool:
        """True if reading the object again repairs it: not if it must be put back first."""
        if self.kind == "wrong_rows" and self.present is None:
            return False
        return self.kind in REPAIRABLE_KINDS


@dataclass(slots=True)
class TableVerification:
    """Counts objects by finding, each once. `oldest_open` is the oldest change not in the table."""

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
        if finding.kind in ("skipped", "quarantined") or (finding.kind == "ingested" and finding.detail):
            self.reasons[finding.detail] += 1
        if finding.kind not in ("pending", "missing", "wrong_version") or finding.present is None:
            return
        when = finding.present.last_modified
        self.oldest_open = when if self.oldest_open is None else min(when, self.oldest_open)

    def list_counts(self) -> dict[str, int]:
        """Return the number of objects by finding, in the order of the fields."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: count for name, count in found.items() if isinstance(count, int)}

    @property
    def is_complete(self) -> bool:
        """True if the table equals the bucket, except for objects in progress."""
        bad = (self.quarantined, self.missing, self.extra, self.wrong_version, self.wrong_rows)
        return not any(bad)


@dataclass(frozen=True, slots=True)
class TableStreams:
    """The data of one table about its objects (`includes_listed`), in the order of keys.

    `rows` are a key's `WriteCounts`, `pending` keys of events after the checkpoint. `quarantined` has reasons
    by key, also of objects that the ledger lacks. `announced` counts by version how often the store put a
    content, for those that the table wrote more than once. `skipped` are keys of events that the table was
    configured to skip, with the commit time of the newest one; `adopted` are keys of events that another
    pipeline has processed, with the time of the newest one. `lost` are rows by key that an erasure deleted.
    """

    includes_listed: Callable[[ListedObject], bool]
    entries: Iterable[LedgerEntry]
    rows: Iterable[tuple[str, WriteCounts]]
    pending: Iterable[str]
    quarantined: Mapping[str, str]
    rules: TableRules
    announced: Iterable[tuple[str, Mapping[str, int]]] = ()
    skipped: Iterable[tuple[str, datetime]] = ()
    adopted: Iterable[tuple[str, datetime]] = ()
    lost: Mapping[str, Sequence[LostRows]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """The data of one table about one object: see `verify_objects`."""

    entry: LedgerEntry | None
    rows: WriteCounts
    is_pending: bool
    quarantined: str | None
    announced: Mapping[str, int] = field(default_factory=dict)
    skipped_at: datetime | None = None
    adopted_at: datetime | None = None
    lost: Sequence[LostRows] = ()


def verify_objects(
    present: Iterable[ListedObject], tables: Sequence[TableStreams]
) -> Iterator[tuple[int, Finding]]:
    """Yield the index of a table and a finding for each of its objects in any stream, in the order of keys.

    `present` are objects of any table, or of none.
    """
    for key, listed, knowns in merge_streams(present, tables):
        for at, (known, table) in enumerate(zip(knowns, tables, strict=True)):
            if listed is not None and table.includes_listed(listed):
                finding: Finding | None = judge_present(listed, known, table.rules)
            else:
                what = "in the bucket" if listed is None else "selected by the table"
                finding = _find_absent(key, known, table.rules, f"the object is not {what}")
            if finding is not None:
                yield at, finding


def merge_streams(
    present: Iterable[ListedObject], tables: Sequence[TableStreams]
) -> Iterator[tuple[str, ListedObject | None, list[Known]]]:
    """Yield every key of any stream once, in order, with the bucket's object and each table's data."""
    streams: list[Iterator[tuple[str, int, int, Any]]] = [((found.key, -1, 0, found) for found in present)]
    for at, table in enumerate(tables):
        streams += _iter_tagged(at, table)
    for key, group in groupby(merge(*streams, key=itemgetter(0, 1, 2)), key=itemgetter(0)):
        parts = {(at, part): value for _, at, part, value in group}
        yield (
            key,
            parts.get((-1, 0)),
            [
                Known(
                    parts.get((at, 0)),
                    parts.get((at, 1)) or {},
                    (at, 2) in parts,
                    table.quarantined.get(key),
                    parts.get((at, 3)) or {},
                    parts.get((at, 4)),
                    parts.get((at, 5)),
                    table.lost.get(key, ()),
                )
                for at, table in enumerate(tables)
            ],
        )


def _iter_tagged(at: int, table: TableStreams) -> list[Iterator[tuple[str, int, int, Any]]]:
    return [
        ((entry.key, at, 0, entry) for entry in table.entries),
        ((key, at, 1, by_version) for key, by_version in table.rows),
        ((key, at, 2, True) for key in table.pending),
        ((key, at, 3, puts) for key, puts in table.announced),
        ((key, at, 4, newest) for key, newest in table.skipped),
        ((key, at, 5, newest) for key, newest in table.adopted),
    ]


def judge_present(listed: ListedObject, known: Known, rules: TableRules) -> Finding:
    """Judge an object that is in the bucket."""
    place = rules.judge_place(listed.key) if known.entry is not None else None
    if place is not None:
        return Finding(place[0], listed.key, place[1], listed)
    open_kind, open_detail = _find_open(listed, known)
    if open_kind is not None:
        return _judge_open(listed, known, open_kind, open_detail)
    if repeated := _find_repeated(known, rules):
        return Finding("wrong_rows", listed.key, repeated, listed)
    entry = known.entry
    if entry is None or entry.status == "quarantined":
        reason = known.quarantined if entry is None else entry.reason
        return Finding("quarantined", listed.key, reason or "quarantined", listed)
    if entry.status != "ingested":
        return Finding("skipped", listed.key, entry.reason or entry.status, listed)
    if not _has_rows(known, entry, rules):
        detail = f"it produced {entry.rows} rows; the table has {_count(known, entry)}"
        return Finding("wrong_rows", listed.key, detail, listed, entry)
    return Finding("ingested", listed.key, "", listed, entry)


def _judge_open(listed: ListedObject, known: Known, kind: FindingKind, detail: str) -> Finding:
    """Judge an object about which the table has not decided."""
    if known.is_pending:
        return Finding("pending", listed.key, "its event is not processed yet", listed)
    if why := _find_skip(listed.last_modified, known):
        return Finding("skipped", listed.key, why, listed)
    return Finding(kind, listed.key, detail, listed)


def _find_skip(changed_at: datetime | None, known: Known) -> str:
    """Return why the table does not process the last event about an object that changed then, if so.

    If the object changed later, a notification was lost. The event of the next reconcile is not skipped.
    """
    if changed_at is None:
        return ""
    decided_at = known.entry.event_time if known.entry else None
    last = max(changed_at, decided_at or changed_at)
    if known.skipped_at is not None and last <= known.skipped_at + CLOCK_MARGIN:
        return SKIPPED
    return ADOPTED if known.adopted_at is not None and last <= known.adopted_at + CLOCK_MARGIN else ""


def _find_open(listed: ListedObject, known: Known) -> tuple[FindingKind | None, str]:
    """Return the finding and its detail if the table has not decided about the current object."""
    entry = known.entry
    if entry is None:
        return (None, "") if known.quarantined is not None else ("missing", "no event reports it")
    if entry.status not in _DECIDED or entry.reason in _UNDECIDED_REASONS:
        return "missing", f"the ledger records it as {entry.reason or entry.status}"
    if entry.etag and not is_same_etag(entry.etag, listed.etag):
        return "wrong_version", f"the table has etag {entry.etag}; the bucket has {listed.etag}"
    return None, ""


def _find_absent(key: str, known: Known, rules: TableRules, why: str) -> Finding | None:
    """Judge an object that is absent or not selected: only rows that should be removed with it are wrong."""
    entry = known.entry
    if entry is not None and is_cleaned(entry):
        return _find_cleaned(entry, known, rules)
    count = sum(map(sum, known.rows.values()))
    is_applied = known.entry is not None and known.entry.status == "ingested" and not rules.counts_rows
    if not known.is_pending and (repeated := _find_repeated(known, rules)):
        return Finding("wrong_rows", key, repeated)
    if not rules.follows_removals or not (count or is_applied):
        return None
    if known.is_pending:
        return Finding("pending", key, "its removal is not processed yet")
    if entry is not None and (reason := _find_skip(entry.event_time, known)):
        return Finding("skipped", key, reason)
    return Finding("extra", key, f"{why}, but the table has {count} rows of it")


def _find_cleaned(entry: LedgerEntry, known: Known, rules: TableRules) -> Finding | None:
    """Judge an object that `clean_source` removed: its rows stay, and cannot be read again."""
    if known.is_pending:
        return Finding("pending", entry.key, "its event is not processed yet")
    if entry.status != "ingested":
        return None
    if not _has_rows(known, entry, rules):
        found = _count(known, entry)
        detail = (
            f"it produced {entry.rows} rows and was cleaned; the table has {found}: put it back to repair it"
        )
        return Finding("wrong_rows", entry.key, detail)
    return Finding("ingested", entry.key, CLEANED)


def _find_repeated(known: Known, rules: TableRules) -> str:
    """Describe content written more often than it was put; empty if none. Only an append repeats rows."""
    if not rules.adds_rows:
        return ""
    for version, writes in known.rows.items():
        puts = max(1, known.announced.get(version, 1))
        if len(writes) > puts:
            return f"its content {version} is in the table {len(writes)} times but was put {_times(puts)}"
    return ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _has_rows(known: Known, entry: LedgerEntry, rules: TableRules) -> bool:
    if not rules.counts_rows:
        return True
    writes = known.rows.get(entry.version, ())
    lost = sum_lost(known.lost, entry.version, entry.instant).values()
    if not (rules.adds_rows and entry.rows):
        return sum(writes) + sum(lost) == entry.rows
    # All rows of a write may be lost.
    return entry.rows in writes or any(entry.rows - rows in (*writes, 0) for rows in lost)


def _count(known: Known, entry: LedgerEntry) -> int:
    return sum(known.rows.get(entry.version, ()))


@dataclass(frozen=True, slots=True)
class ComparedObject:
    """A re-read object with its rows. `status` is `read`, or why it was not; `lost` rows (or changes) are not
    in the table, `foreign` ones not in the object.
    """

    key: str
    status: str
    read: int = 0
    stored: int = 0
    lost: int = 0
    foreign: int = 0


@dataclass(slots=True)
class DeepCounts:
    """The result of re-reading one table's objects. `changed` objects differ from the table's content, and
    `unread` ones were unavailable: both are unverified.
    """

    objects: int = 0
    rows: int = 0
    differing: int = 0
    changed: int = 0
    unread: int = 0

    def add(self, compared: ComparedObject, *, is_same: bool) -> None:
        """Count one object."""
        if compared.status in ("superseded", "missing"):
            self.changed += 1
        elif compared.status != "read":
            self.unread += 1
        else:
            self.objects += 1
            self.rows += compared.read
            self.differing += not is_same


def judge_compared(found: Finding, compared: ComparedObject, rules: TableRules) -> Finding:
    """Judge an ingested object after it was read again."""
    # Another object may have overwritten the rows of a merge table.
    lost = compared.lost if rules.counts_rows or rules.applies_changes or rules.has_sets else 0
    if compared.status != "read" or not (lost or compared.foreign):
        return found
    what = "changes" if rules.applies_changes else f"{compared.read} rows"
    parts = [f"{lost} of its {what} are missing from the table"] if lost else []
    parts += [f"{compared.foreign} rows of the table are not in the object"] if compared.foreign else []
    return replace(found, kind="wrong_rows", detail="re-read: " + "; ".join(parts))


def is_in_sample(key: str, one_in: int, seed: str) -> bool:
    """True if this seed samples the key; it samples about one in `one_in`."""
    digest = hashlib.blake2b(f"{seed}\0{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % one_in == 0
