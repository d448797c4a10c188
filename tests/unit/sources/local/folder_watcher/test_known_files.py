"""What a file found now means against what was announced: orders, identities, digests."""

from datetime import datetime, timezone

import pytest

from headwater.sources.local.folder_watcher.known_files import (
    ORDER_STEP_NS,
    KnownFile,
    KnownFiles,
    choose_order,
    judge_file,
    may_differ,
)
from headwater.sources.local.lister import ListedFile

WHEN = datetime(2026, 5, 1, tzinfo=timezone.utc)
KNOWN = KnownFile("5-1", order=100_000, identity="64-1", digest="aa")
GONE = KnownFile("5-1", order=100_000, is_present=False, identity="64-1", digest="aa")


def find(etag: str = "5-1", changed_ns: int = 100, identity: str = "64-1") -> ListedFile:
    return ListedFile("k", 1, etag, None, WHEN, changed_ns=changed_ns, identity=identity)


@pytest.mark.parametrize(
    ("known", "moment", "expected"),
    [
        (None, 7, 7),
        (None, -7, 0),
        (KNOWN, 200_000, 200_000),
        (KNOWN, 100_000, 100_000 + ORDER_STEP_NS),
        (KNOWN, 5, 100_000 + ORDER_STEP_NS),
        (GONE, 5, 100_000 + ORDER_STEP_NS),
    ],
)
def test_an_order_is_after_all_that_was_announced_under_the_key(
    known: KnownFile | None, moment: int, expected: int
) -> None:
    assert choose_order(known, moment) == expected


def test_an_order_stays_a_time_that_an_event_can_have() -> None:
    last = choose_order(None, 2**70)
    assert datetime.fromtimestamp(last / 1e9, timezone.utc).year in (2261, 2262)
    assert last < 2**63


@pytest.mark.parametrize(
    ("known", "found", "expected"),
    [
        (None, find(), True),
        (GONE, find(), True),
        (KNOWN, find(), False),
        (KNOWN, find("6-1"), True),
        (KNOWN, find(identity="65-1"), True),
        (KNOWN, find(identity="64-2"), True),
        # Announced before events told the identity of files.
        (KnownFile("5-1", 100), find(), False),
        # Its etag has the suffix that a listing does not show.
        (KnownFile("5-1-bb", 100, identity="64-1", digest="bb"), find(), False),
    ],
)
def test_possibly_changed_files(known: KnownFile | None, found: ListedFile, *, expected: bool) -> None:
    assert may_differ(known, found) is expected


def test_a_new_file_has_its_change_time_as_order() -> None:
    assert judge_file(None, find(), "aa") == KnownFile("5-1-aa", 100, True, "64-1", "aa")


def test_changed_times_are_changed_content_without_a_read() -> None:
    file = judge_file(KNOWN, find("6-1", 200_000, "c8-1"), "aa")
    assert file == KnownFile("6-1-aa", 200_000, True, "c8-1", "aa")


def test_a_hard_link_or_new_permissions_are_no_news() -> None:
    assert judge_file(KNOWN, find(identity="65-1"), "aa") == KnownFile("5-1", 100_000, True, "65-1", "aa")


def test_other_content_of_equal_size_and_time_is_news_under_another_etag() -> None:
    file = judge_file(KNOWN, find(identity="65-1"), "bb")
    assert file == KnownFile("5-1-bb", 100_000 + ORDER_STEP_NS, True, "65-1", "bb")


def test_content_that_cannot_be_read_stays_suspicious() -> None:
    assert judge_file(KNOWN, find(identity="65-1"), "") == KNOWN


def test_content_that_can_be_read_at_last_is_news() -> None:
    known = KnownFile("5-1", 100, True, "64-1", "")
    assert judge_file(known, find(identity="65-1"), "aa").etag == "5-1-aa"


def test_restored_file_is_an_event_with_equal_content() -> None:
    file = judge_file(GONE, find(), "aa")
    assert file == KnownFile("5-1-aa", 100_000 + ORDER_STEP_NS, True, "64-1", "aa")


def test_replacement_of_equal_size_and_time_has_another_etag() -> None:
    assert judge_file(GONE, find(identity="64-2"), "bb").etag == "5-1-bb"


def test_content_with_a_suffix_that_is_put_back_keeps_it() -> None:
    gone = KnownFile("5-1-bb", 100, is_present=False, identity="64-2", digest="bb")
    assert judge_file(gone, find(identity="64-2"), "bb").etag == "5-1-bb"


def test_keys_below_a_prefix_are_those_of_present_files() -> None:
    files = KnownFiles({"a/x": KNOWN, "a/y": GONE, "a0": KNOWN, "b": KNOWN})
    assert files.list_below("a/") == ["a/x"]
    files.put("a/y", KNOWN)
    files.remove("a/x", 7)
    assert files.list_below("a/") == ["a/y"]
    assert files.list_below("") == ["a/y", "a0", "b"]
    removed = files.get("a/x")
    assert removed is not None
    assert (removed.order, removed.is_present, removed.digest) == (7, False, "aa")
