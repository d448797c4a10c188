"""Several tables are compared with one listing."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.lost_rows import LostRows
from headwater.ingest.planning.verification import TableRules, TableStreams, verify_objects
from headwater.sources.lister import ListedObject

AT = datetime(2026, 5, 1, tzinfo=timezone.utc)
ENTRY = LedgerEntry("id", "s3", "landing", "a/1.json", version="e1", etag="e1", status="ingested", rows=2)
MIRROR = TableRules(follows_removals=True, counts_rows=True)


def table(prefix: str, *entries: LedgerEntry) -> TableStreams:
    """Takes the keys with the prefix; each entry has the rows that it says."""
    rows = [(entry.key, {entry.version: [entry.rows]}) for entry in entries]
    return TableStreams(lambda found: found.key.startswith(prefix), entries, rows, (), {}, MIRROR)


def listed(key: str, etag: str = "e1") -> ListedObject:
    return ListedObject(key, 10, etag, None, AT)


def entry(key: str) -> LedgerEntry:
    return replace(ENTRY, object_id=key, key=key)


def test_each_table_has_one_finding_for_each_of_its_objects_in_the_order_of_keys() -> None:
    orders = table("a/", entry("a/1.json"), entry("a/2.json"), entry("a/gone.json"))
    every = table("", entry("a/1.json"), entry("b/1.json"))
    present = [listed("a/1.json"), listed("a/2.json", "e2"), listed("b/1.json"), listed("c.json")]
    found = [(at, f.key, f.kind) for at, f in verify_objects(present, [orders, every])]
    assert found == [
        (0, "a/1.json", "ingested"),
        (1, "a/1.json", "ingested"),
        (0, "a/2.json", "wrong_version"),
        (1, "a/2.json", "missing"),
        (0, "a/gone.json", "extra"),
        (1, "b/1.json", "ingested"),
        (1, "c.json", "missing"),
    ]


def test_a_listing_of_other_objects_says_nothing_about_a_table() -> None:
    assert list(verify_objects([listed("b.json")], [table("a/")])) == []
    assert list(verify_objects([listed("b.json")], [])) == []


HOUR = timedelta(hours=1)


def test_skipped_objects_are_not_missing_unless_they_changed_later() -> None:
    outdated = replace(entry("outdated.json"), etag="e0", version="e0", event_time=AT - HOUR)
    streams = TableStreams(
        includes_listed=lambda _: True,
        entries=[entry("done.json"), outdated],
        rows=[("done.json", {"e1": [2]}), ("outdated.json", {"e0": [2]})],
        pending=["pending.json"],
        quarantined={},
        rules=MIRROR,
        skipped=[
            (key, AT + HOUR)
            for key in ("changed.json", "done.json", "early.json", "outdated.json", "pending.json")
        ],
    )
    present = [
        replace(listed("changed.json"), last_modified=AT + 2 * HOUR),
        *(listed(f"{name}.json") for name in ("done", "early", "lost", "outdated", "pending")),
    ]
    found = {finding.key: (finding.kind, finding.detail) for _, finding in verify_objects(present, [streams])}
    assert found == {
        "changed.json": ("missing", "no event reports it"),
        "done.json": ("ingested", ""),
        "early.json": ("skipped", "skipped by `start_from` or `skip-to`"),
        "lost.json": ("missing", "no event reports it"),
        "outdated.json": ("skipped", "skipped by `start_from` or `skip-to`"),
        "pending.json": ("pending", "its event is not processed yet"),
    }


def test_objects_of_the_previous_pipeline_are_not_missing_unless_they_changed_later() -> None:
    keys = ("changed.json", "early.json", "pending.json")
    streams = replace(table(""), pending=["pending.json"], adopted=[(key, AT) for key in keys])
    present = [
        replace(listed("changed.json"), last_modified=AT + HOUR),
        *(listed(f"{name}.json") for name in ("early", "lost", "pending")),
    ]
    found = {finding.key: (finding.kind, finding.detail) for _, finding in verify_objects(present, [streams])}
    assert found == {
        "changed.json": ("missing", "no event reports it"),
        "early.json": ("skipped", "adopted: the previous pipeline has processed it"),
        "lost.json": ("missing", "no event reports it"),
        "pending.json": ("pending", "its event is not processed yet"),
    }


@pytest.mark.parametrize(("decided", "kind"), [(-HOUR, "skipped"), (2 * HOUR, "extra")])
def test_a_skipped_removal_leaves_the_rows_of_a_mirror(decided: timedelta, kind: str) -> None:
    removed = replace(entry("removed.json"), event_time=AT + decided)
    streams = replace(table("", removed), skipped=[("removed.json", AT + HOUR)])
    assert [finding.kind for _, finding in verify_objects([], [streams])] == [kind]


def lost(event: str, rows: int, instant: str = "2") -> LostRows:
    return LostRows("a/1.json", "e1", event, "subject", rows, instant)


@pytest.mark.parametrize(
    ("stored", "rows_lost", "kind"),
    [
        ([1], [lost("x", 1)], "ingested"),
        ([], [lost("x", 1), replace(lost("x", 1), subject="other")], "ingested"),
        ([2], [lost("x", 1, instant="0")], "ingested"),
        ([1], [lost("x", 1, instant="0")], "wrong_rows"),
        ([1], [replace(lost("x", 1), version="e0")], "wrong_rows"),
        ([1], [], "wrong_rows"),
    ],
)
@pytest.mark.parametrize("adds_rows", [False, True])
def test_rows_that_an_erasure_deleted_are_not_missing(
    stored: list[int], rows_lost: list[LostRows], kind: str, *, adds_rows: bool
) -> None:
    known = replace(entry("a/1.json"), instant="1")
    streams = TableStreams(
        includes_listed=lambda _: True,
        entries=[known],
        rows=[(known.key, {"e1": stored})] if stored else [],
        pending=(),
        quarantined={},
        rules=TableRules(follows_removals=not adds_rows, counts_rows=True, adds_rows=adds_rows),
        lost={known.key: rows_lost},
    )
    (_, found), *_ = verify_objects([listed(known.key)], [streams])
    assert found.kind == kind
