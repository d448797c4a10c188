"""Decides which objects of the source may be tagged, moved or deleted now. Pure, constant memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from headwater.capture.position import parse_instant
from headwater.ingest.planning.ledger_entry import (
    CLEANED_REASONS,
    CLOCK_MARGIN,
    TAGGED,
    LedgerEntry,
    is_cleaned,
)
from headwater.ingest.planning.verification import (
    Known,
    TableRules,
    TableStreams,
    judge_present,
    merge_streams,
)
from headwater.sources.lister import ListedObject
from headwater.sources.object_event import is_same_etag

CleanAction = Literal["tag", "move", "delete"]

CleanReason = Literal[
    "due",
    "too_young",
    "unclaimed",
    "pending",
    "quarantined",
    "bad_records",
    "not_ingested",
    "other_version",
    "wrong_rows",
    "done",
]
"""`due`, or why the object is not cleaned now: the delay has not passed (`too_young`), no table selects it
(`unclaimed`), one of its events is not processed yet (`pending`), it is quarantined or some of its records
are (`quarantined`, `bad_records`), a table has not ingested it (`not_ingested`) or has another version
(`other_version`), verify would fail (`wrong_rows`), or it is already tagged (`done`).
"""

# These objects have no rows. Other reasons to skip depend on the configuration and may change.
_ROWLESS = frozenset({"empty_object", "no_records"})


@dataclass(frozen=True, slots=True)
class SourceCleanPolicy:
    """The action for objects that have been in all their tables for `delay`."""

    action: CleanAction
    delay: timedelta


@dataclass(frozen=True, slots=True)
class Claim:
    """A table that selects the object, with its ledger entry and its verification."""

    known: Known
    rules: TableRules


@dataclass(frozen=True, slots=True)
class CleanDecision:
    """`entries` are the claiming tables' ledger entries of the object. `is_announced`: all of them
    have processed the control event that announces the cleaning, so only the action remains.
    """

    listed: ListedObject
    reason: CleanReason
    entries: tuple[LedgerEntry, ...] = ()
    is_announced: bool = False


def iter_clean_decisions(
    present: Iterable[ListedObject], tables: Sequence[TableStreams], policy: SourceCleanPolicy, now: datetime
) -> Iterator[CleanDecision]:
    """Yield one decision per object of the bucket, in key order. `tables` are all configured tables."""
    for _, listed, knowns in merge_streams(present, tables):
        if listed is None:
            continue
        claims = [
            Claim(known, table.rules)
            for known, table in zip(knowns, tables, strict=True)
            if table.includes_listed(listed)
        ]
        yield decide_cleaning(listed, claims, policy, now)


def decide_cleaning(
    listed: ListedObject, claims: Sequence[Claim], policy: SourceCleanPolicy, now: datetime
) -> CleanDecision:
    """Decide whether every table that selects the object has had its current content long enough."""
    entries = tuple(claim.known.entry for claim in claims if claim.known.entry is not None)
    if not claims:
        return CleanDecision(listed, "unclaimed")
    found = [_find_obstacle(listed, claim) for claim in claims]
    obstacle = next((reason for reason in found if reason is not None), None)
    if obstacle is not None:
        return CleanDecision(listed, obstacle, entries)
    if policy.action == "tag" and all(entry.reason == TAGGED for entry in entries):
        return CleanDecision(listed, "done", entries)
    # A control event does not change the instant: it is still that of the content.
    since = max(parse_instant(entry.instant) for entry in entries)
    reason: CleanReason = "due" if now - since >= policy.delay else "too_young"
    return CleanDecision(listed, reason, entries, is_announced=all(map(is_cleaned, entries)))


def _find_obstacle(listed: ListedObject, claim: Claim) -> CleanReason | None:
    """Return the reason why this table needs the object; None if it does not."""
    known, entry = claim.known, claim.known.entry
    if known.is_pending:
        return "pending"
    if known.quarantined is not None or (entry is not None and entry.status == "quarantined"):
        return "quarantined"
    if entry is None or not entry.instant or not _is_taken(entry):
        return "not_ingested"
    # Put again after it was ingested, possibly with the same bytes.
    is_newer = listed.last_modified > parse_instant(entry.instant) + CLOCK_MARGIN
    if is_newer or not listed.etag or not is_same_etag(entry.etag, listed.etag):
        return "other_version"
    if entry.bad_rows:
        return "bad_records"
    kind = judge_present(listed, known, claim.rules).kind
    if kind == "wrong_rows":
        return "wrong_rows"
    return None if kind in ("ingested", "skipped") else "not_ingested"


def _is_taken(entry: LedgerEntry) -> bool:
    if entry.status == "skipped":
        return entry.reason in _ROWLESS | CLEANED_REASONS
    return entry.status == "ingested"
