"""Only what is in all of its tables, for long enough, may leave the bucket."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from headwater.ingest.cleaning.decision import (
    Claim,
    CleanReason,
    SourceCleanPolicy,
    decide_cleaning,
    iter_clean_decisions,
)
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.verification import Finding, Known, TableRules, TableStreams, verify_objects
from headwater.sources.lister import ListedObject

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
LISTED = ListedObject("a.json", 10, "e1", None, datetime(2026, 5, 1, tzinfo=timezone.utc))
ENTRY = LedgerEntry(
    "id",
    "s3",
    "landing",
    "a.json",
    version="e1",
    etag="e1",
    status="ingested",
    rows=2,
    instant="20260501000002000",
)
RULES = TableRules(follows_removals=True, counts_rows=True)
POLICY = SourceCleanPolicy("delete", timedelta(days=7))


def claim(
    entry: LedgerEntry | None = ENTRY, *, rows: int = 2, pending: bool = False, quarantined: str | None = None
) -> Claim:
    counted = {entry.version: [rows] if rows else []} if entry else {}
    return Claim(Known(entry, counted, pending, quarantined), RULES)


def reason(*claims: Claim, listed: ListedObject = LISTED, policy: SourceCleanPolicy = POLICY) -> CleanReason:
    return decide_cleaning(listed, claims, policy, NOW).reason


def entry(**changes: object) -> LedgerEntry:
    return replace(ENTRY, **changes)  # type: ignore[arg-type]


def test_an_object_that_is_in_every_table_is_due() -> None:
    assert reason(claim()) == "due"
    assert reason(claim(), claim()) == "due"


def test_an_object_that_no_table_takes_is_never_touched() -> None:
    assert reason() == "unclaimed"


OBSTACLES: Sequence[tuple[CleanReason, Claim]] = [
    ("not_ingested", claim(None)),
    ("not_ingested", claim(entry(status="pending"))),
    ("not_ingested", claim(entry(status="removed"))),
    ("not_ingested", claim(entry(instant=""))),
    ("not_ingested", claim(entry(status="skipped", reason="unparsable"))),
    ("not_ingested", claim(entry(status="skipped", reason="dropped"))),
    ("not_ingested", claim(entry(reason="removal_ignored"))),
    ("quarantined", claim(entry(status="quarantined", reason="unparsable"))),
    ("quarantined", claim(None, quarantined="forbidden")),
    ("quarantined", claim(quarantined="forbidden")),
    ("bad_records", claim(entry(bad_rows=1))),
    ("other_version", claim(entry(etag="e0", version="e0"))),
    ("other_version", claim(entry(etag=""))),
    ("pending", claim(pending=True)),
    ("wrong_rows", claim(rows=1)),
]


@pytest.mark.parametrize(("expected", "obstacle"), OBSTACLES)
def test_one_table_that_does_not_have_it_keeps_it(expected: CleanReason, obstacle: Claim) -> None:
    assert reason(obstacle) == expected
    assert reason(claim(), obstacle) == expected
    assert reason(obstacle, claim()) == expected


@pytest.mark.parametrize("why", ["empty_object", "no_records"])
def test_an_object_without_rows_is_in_its_tables(why: str) -> None:
    assert reason(claim(entry(status="skipped", reason=why, rows=0), rows=0)) == "due"


def test_the_delay_counts_from_the_last_table_that_took_it_in() -> None:
    late = claim(entry(instant="20260530000000000"))
    assert reason(claim(), late) == "too_young"
    assert decide_cleaning(LISTED, [late], POLICY, NOW + timedelta(days=5)).reason == "due"


def test_overwritten_objects_are_not_the_ingested_ones() -> None:
    again = replace(LISTED, last_modified=datetime(2026, 5, 2, tzinfo=timezone.utc))
    assert reason(claim(), listed=again) == "other_version"


def test_announced_objects_are_not_announced_again() -> None:
    cleaned = claim(entry(reason="cleaned"))
    found = decide_cleaning(LISTED, [cleaned], POLICY, NOW)
    assert (found.reason, found.is_announced) == ("due", True)
    assert not decide_cleaning(LISTED, [cleaned, claim()], POLICY, NOW).is_announced


def test_tagged_objects_are_done_and_may_be_deleted() -> None:
    tagged = claim(entry(reason="tagged"))
    assert reason(tagged, policy=replace(POLICY, action="tag")) == "done"
    assert reason(tagged, claim(entry(reason="cleaned")), policy=replace(POLICY, action="tag")) == "due"
    assert reason(tagged) == "due"


def streams(
    entries: Sequence[LedgerEntry] = (),
    rows: Sequence[tuple[str, dict[str, list[int]]]] = (),
    pending: Sequence[str] = (),
) -> TableStreams:
    return TableStreams(lambda found: found.key.endswith(".json"), entries, rows, pending, {}, RULES)


def verify(table: TableStreams) -> list[Finding]:
    """With an empty bucket."""
    return [finding for _, finding in verify_objects([], [table])]


def test_a_pass_asks_the_tables_that_take_the_key() -> None:
    objects = [replace(LISTED, key=key) for key in ("a.json", "b.json", "c.csv", "d.json")]
    known = [replace(ENTRY, key=key, object_id=key) for key in ("a.json", "b.json", "gone.json")]
    rows = [(key, {"e1": [2]}) for key in ("a.json", "b.json", "gone.json")]
    first, second = streams(known, rows), streams(known, rows, ["b.json"])
    found = iter_clean_decisions(objects, [first, second], POLICY, NOW)
    assert [(d.listed.key, d.reason) for d in found] == [
        ("a.json", "due"),
        ("b.json", "pending"),
        ("c.csv", "unclaimed"),
        ("d.json", "not_ingested"),
    ]


@pytest.mark.parametrize("kind", ["ingested", "skipped"])
def test_verify_counts_cleaned_objects_by_previous_status(kind: str) -> None:
    cleaned = entry(status=kind, reason="cleaned")
    found = verify(streams([cleaned], [("a.json", {"e1": [2]})]))
    assert [(f.kind, f.detail) for f in found] == ([("ingested", "cleaned")] if kind == "ingested" else [])


def test_verify_finds_lost_rows_of_cleaned_objects_without_re_reading() -> None:
    (found,) = verify(streams([entry(reason="cleaned")], [("a.json", {"e1": [1]})]))
    assert (found.kind, found.is_repairable) == ("wrong_rows", False)
    assert "put it back" in found.detail


def test_verify_waits_for_events_of_cleaned_objects() -> None:
    waiting = streams([entry(reason="cleaned")], [("a.json", {"e1": [2]})], ["a.json"])
    assert [f.kind for f in verify(waiting)] == ["pending"]


def test_rows_of_an_object_that_was_not_cleaned_are_extra() -> None:
    found = verify(streams([ENTRY], [("a.json", {"e1": [2]})]))
    assert found == [
        Finding("extra", "a.json", "the object is not in the bucket, but the table has 2 rows of it")
    ]
    assert found[0].is_repairable
