from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.listers.protocol import ListedObject
from headwater.capture.listing_diff import diff_listing

STATES = st.dictionaries(st.text(max_size=3), st.sampled_from(["e1", "e2", "e3"]))
WHEN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def build_listing(state: dict[str, str]) -> list[ListedObject]:
    return [ListedObject(key, 1, etag, None, WHEN) for key, etag in sorted(state.items())]


@given(STATES, STATES)
def test_applying_the_changes_gives_the_listing(listed: dict[str, str], known: dict[str, str]) -> None:
    changes = diff_listing(build_listing(listed), known)
    after = {key: etag for key, etag in known.items() if key not in changes.removed}
    after.update((found.key, found.etag) for found in changes.changed)
    assert after == listed


@given(STATES, STATES)
def test_nothing_is_a_change_that_is_not(listed: dict[str, str], known: dict[str, str]) -> None:
    changes = diff_listing(build_listing(listed), known)
    assert all(known.get(found.key) != found.etag for found in changes.changed)
    assert not set(changes.removed) & listed.keys()


@given(STATES)
def test_a_listing_does_not_differ_from_itself(state: dict[str, str]) -> None:
    changes = diff_listing(build_listing(state), state)
    assert (changes.changed, changes.removed) == ((), ())
