import tracemalloc
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import SourceError, SourceUnavailableError
from headwater.sources.lister import ListedObject
from headwater.sources.listing_diff import Comparison, KnownState, compare_listing

# Any text a key can be: all planes, no lone surrogates.
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
STATES = st.dictionaries(KEYS, st.sampled_from(["e1", "e2", "e3"]))
WHEN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def build_object(key: str, etag: str = "e") -> ListedObject:
    return ListedObject(key, 1, etag, None, WHEN)


def build_listing(state: dict[str, str]) -> list[ListedObject]:
    return [build_object(key, state[key]) for key in sorted(state, key=lambda key: key.encode())]


def build_known(state: dict[str, str]) -> list[KnownState]:
    return [KnownState(key, state[key]) for key in sorted(state, key=lambda key: key.encode())]


@given(STATES, STATES)
def test_possibly_deleted_objects_are_not_reported_absent(
    listed: dict[str, str], known: dict[str, str]
) -> None:
    states = [
        KnownState(key, known[key], may_be_deleted=True) for key in sorted(known, key=lambda k: k.encode())
    ]
    verdicts = {found.key: found.verdict for found in compare_listing(build_listing(listed), states)}
    sure = {found.key: found.verdict for found in compare_listing(build_listing(listed), build_known(known))}
    assert verdicts == {key: "same" if verdict == "vanished" else verdict for key, verdict in sure.items()}


@given(STATES)
def test_a_listing_does_not_differ_from_itself(state: dict[str, str]) -> None:
    compared = compare_listing(build_listing(state), build_known(state))
    assert {each.verdict for each in compared} <= {"same"}


@given(STATES, STATES)
def test_every_key_is_compared_once_in_order(listed: dict[str, str], known: dict[str, str]) -> None:
    compared = list(compare_listing(build_listing(listed), build_known(known)))
    assert [each.key for each in compared] == sorted(
        listed.keys() | known.keys(), key=lambda key: key.encode()
    )
    for each in compared:
        assert (each.listed and each.listed.etag) == listed.get(each.key)
        assert (each.known and each.known.etag) == known.get(each.key)


@given(STATES, STATES, st.integers(0, 20))
def test_going_on_behind_any_key_gives_the_rest(
    listed: dict[str, str], known: dict[str, str], count: int
) -> None:
    whole = list(compare_listing(build_listing(listed), build_known(known)))
    cursor = whole[min(count, len(whole)) - 1].key if whole and count else ""
    rest = compare_listing(
        (found for found in build_listing(listed) if found.key > cursor),
        (state for state in build_known(known) if state.key > cursor),
    )
    # The empty text is behind no key, not even the empty one.
    assert list(rest) == [each for each in whole if each.key > cursor]


@given(STATES, STATES, st.integers(0, 5))
def test_interrupted_listing_reports_nothing_absent_after_the_break(
    listed: dict[str, str], known: dict[str, str], after: int
) -> None:
    shown = build_listing(listed)[:after]

    def interrupt() -> Iterator[ListedObject]:
        yield from shown
        raise SourceUnavailableError("503")

    compared: list[Comparison] = []
    with pytest.raises(SourceUnavailableError):
        compared.extend(compare_listing(interrupt(), build_known(known)))
    last = shown[-1].key if shown else ""
    assert all(each.key <= last for each in compared if each.verdict == "vanished")


@given(st.lists(KEYS, min_size=2, unique=True))
def test_a_listing_in_another_order_is_refused(keys: list[str]) -> None:
    if keys == sorted(keys):
        keys.reverse()
    with pytest.raises(SourceError, match="not in key order"):
        list(compare_listing(map(build_object, keys), []))
    with pytest.raises(SourceError, match="not in key order"):
        list(compare_listing([], (KnownState(key, "e") for key in keys)))


def test_a_key_listed_twice_in_a_row_counts_as_it_came_last() -> None:
    listed = [build_object("a", "e1"), build_object("a", "e2")]
    (compared,) = compare_listing(listed, [KnownState("a", "e2")])
    assert compared.verdict == "same"


@pytest.mark.parametrize(
    ("listed", "known", "verdict"),
    [
        (("e1", "v1"), ("e1", "v1"), "same"),
        (("e1", "v2"), ("e1", "v1"), "changed"),
        (("e1", None), ("e1", "v1"), "same"),
        (("e2", None), ("e1", "v1"), "changed"),
        (("e1", "v1"), (None, None), "same"),
        (("", None), ("e1", None), "same"),
    ],
)
def test_states_are_distinguished_by_version_else_etag_else_size(
    listed: tuple[str, str | None], known: tuple[str | None, str | None], verdict: str
) -> None:
    found = ListedObject("k", 5, listed[0], listed[1], WHEN)
    (compared,) = compare_listing([found], [KnownState("k", known[0], known[1], size=5)])
    assert compared.verdict == verdict


def test_another_size_is_a_change_where_no_etag_is_known() -> None:
    (compared,) = compare_listing([build_object("k")], [KnownState("k", None, size=7)])
    assert compared.verdict == "changed"


@pytest.mark.long
def test_memory_does_not_grow_with_a_million_keys() -> None:
    def list_objects() -> Iterator[ListedObject]:
        return (build_object(f"key-{at:07d}") for at in range(1_000_000) if at % 100)

    def list_known() -> Iterator[KnownState]:
        return (KnownState(f"key-{at:07d}", "e") for at in range(1_000_000) if at % 77)

    found = {"same": 0, "missing": 0, "vanished": 0, "changed": 0}
    comparisons = compare_listing(list_objects(), list_known())
    next(comparisons)
    tracemalloc.start()
    try:
        for compared in comparisons:
            found[compared.verdict] += 1
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found["vanished"] == 9_870
    assert found["missing"] == 12_858
    assert peak < 100_000


def test_same_bytes_put_later_are_a_change() -> None:
    """What lay there between may have been seen, so a table has to be told."""
    listed = build_object("a")

    def compare(seconds: float) -> str:
        known = KnownState("a", "e", event_time=WHEN + timedelta(seconds=seconds))
        (found,) = compare_listing([listed], [known])
        return found.verdict

    assert (compare(-0.5), compare(0), compare(0.7)) == ("changed", "same", "same")
