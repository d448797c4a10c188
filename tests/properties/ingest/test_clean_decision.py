"""Nothing is due that any claiming table does not have, exactly as it lies in the bucket, for long enough."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.position import build_position, parse_instant
from headwater.ingest.cleaning.decision import (
    Claim,
    SourceCleanPolicy,
    decide_cleaning,
    iter_clean_decisions,
)
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.verification import GOOD_KINDS, Known, TableRules, TableStreams, verify_objects
from headwater.sources.lister import ListedObject

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
ETAGS = st.sampled_from(["e1", "e1", "e1", "e2", ""])
times = st.integers(0, 20).map(lambda days: NOW - timedelta(days=days))

listings = st.builds(
    ListedObject,
    st.just("a.json"),
    st.just(1),
    ETAGS,
    st.none(),
    st.integers(10, 40).map(lambda d: NOW - timedelta(days=d)),
)
entries = st.builds(
    LedgerEntry,
    st.just("id"),
    st.just("s3"),
    st.just("landing"),
    st.just("a.json"),
    version=st.just("v"),
    etag=ETAGS,
    status=st.sampled_from(
        ["ingested", "ingested", "ingested", "skipped", "quarantined", "removed", "pending"]
    ),
    reason=st.sampled_from(
        ["", "", "cleaned", "tagged", "empty_object", "unparsable", "dropped", "removal_ignored"]
    ),
    rows=st.integers(0, 2),
    bad_rows=st.sampled_from([0, 0, 0, 1]),
    instant=times.map(lambda time: build_position(time).completed) | st.just(""),
)
claims = st.builds(
    Claim,
    st.builds(
        Known,
        st.none() | entries,
        st.dictionaries(st.just("v"), st.lists(st.integers(1, 2), max_size=2)),
        st.sampled_from([False, False, True]),
        st.sampled_from([None, None, None, "forbidden"]),
    ),
    st.builds(TableRules, st.booleans(), st.booleans(), st.booleans()),
)
policies = st.builds(
    SourceCleanPolicy,
    st.sampled_from(["tag", "move", "delete"]),
    st.integers(0, 10).map(lambda days: timedelta(days=days)),
)


def make_good(claim: Claim, listed: ListedObject) -> Claim:
    """The claim of a table that has the object."""
    entry = LedgerEntry("id", "s3", "landing", "a.json", "v", listed.etag or "e1", status="ingested", rows=1)
    entry = replace(entry, instant="20260502000000000")
    return replace(claim, known=Known(entry, {"v": [1]}, False, None))


@given(listings, st.lists(claims, max_size=3), policies)
def test_due_objects_are_in_all_their_tables(listed, claimed, policy):
    decision = decide_cleaning(listed, claimed, policy, NOW)
    if decision.reason != "due":
        return
    assert claimed
    for claim in claimed:
        known, entry = claim.known, claim.known.entry
        assert entry is not None
        assert not known.is_pending
        assert known.quarantined is None
        assert entry.status in ("ingested", "skipped")
        assert entry.etag == listed.etag != ""
        assert not entry.bad_rows
        assert NOW - parse_instant(entry.instant) >= policy.delay
        if claim.rules.counts_rows and entry.status == "ingested":
            writes = known.rows.get(entry.version, [])
            assert entry.rows in ([*writes, 0] if claim.rules.adds_rows else [sum(writes)])


@given(listings, st.lists(claims, min_size=1, max_size=3), policies)
def test_due_objects_pass_verify(listed, claimed, policy):
    if decide_cleaning(listed, claimed, policy, NOW).reason != "due":
        return
    for claim in claimed:
        known = claim.known
        table = TableStreams(
            lambda _: True,
            [known.entry],
            [("a.json", known.rows)],
            ["a.json"] if known.is_pending else [],
            {},
            claim.rules,
        )
        assert {finding.kind for _, finding in verify_objects([listed], [table])} <= GOOD_KINDS - {"pending"}


@given(listings, st.lists(claims, min_size=1, max_size=3), policies, st.integers(0, 2))
def test_a_further_table_never_makes_an_object_due(listed, claimed, policy, at):
    """And a table that has it is never the one that keeps it."""
    one_less = [claim for index, claim in enumerate(claimed) if index != at]
    if one_less and decide_cleaning(listed, one_less, policy, NOW).reason != "due":
        assert decide_cleaning(listed, claimed, policy, NOW).reason != "due"


@given(listings, claims, policies)
def test_a_good_claim_is_due_at_last(listed, claim, policy):
    good = make_good(claim, replace(listed, etag="e1"))
    young = replace(listed, etag="e1", last_modified=datetime(2026, 5, 1, tzinfo=timezone.utc))
    assert decide_cleaning(young, [good], policy, NOW).reason in ("due", "too_young")
    assert decide_cleaning(young, [good], policy, NOW + timedelta(days=60)).reason == "due"


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), listings, st.none() | entries),
        max_size=6,
        unique_by=lambda p: p[0],
    )
)
def test_every_listed_object_is_decided_once_and_in_order(found):
    found = sorted(found, key=lambda part: part[0])
    known = [replace(entry, key=key) for key, _, entry in found if entry is not None]
    table = TableStreams(lambda _: True, known, [], [], {}, TableRules(True, False))
    present = [replace(listed, key=key) for key, listed, _ in found]
    decided = [
        d.listed for d in iter_clean_decisions(present, [table], SourceCleanPolicy("tag", timedelta()), NOW)
    ]
    assert decided == present
