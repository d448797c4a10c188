"""The object under a key according to its events: cases that tests of complete tables do not show."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.capture.reconcile.newest_state import fold_known, is_certain_removal
from headwater.sources.lister import ListedObject
from headwater.sources.listing_diff import Comparison
from tests.fixtures.events import START, build_event, build_stored


@pytest.mark.parametrize(
    ("version", "name", "certain"),
    [
        (None, "ObjectRemoved:Delete", True),
        ("null", "ObjectRemoved:Delete", True),
        ("v1", "ObjectRemoved:Delete", False),
        ("v1", "ObjectRemoved:DeleteMarkerCreated", True),
        ("v1", "LifecycleExpiration:DeleteMarkerCreated", True),
    ],
)
def test_a_delete_marker_hides_all_versions(version: str | None, name: str, *, certain: bool) -> None:
    event = replace(build_event(kind="removed", version_id=version), event_name=name)
    assert is_certain_removal(event) is certain
    assert not is_certain_removal(build_event(version_id=version))


@pytest.mark.parametrize(("seconds", "verdict"), [(4, "same"), (6, "missing")])
def test_version_deleted_after_a_listing_makes_its_observation_uncertain(
    seconds: float, verdict: str
) -> None:
    # A table may have read the deleted version, whose own notification was lost, instead of the listed one.
    event = replace(build_event(etag="e1"), sequencer=None, order_key=None)
    listed = replace(build_stored(event), source="listing", received_at=START + timedelta(seconds=5))
    deleted = build_stored(build_event(kind="removed", version_id="v2", sequence=9))
    deleted = replace(deleted, event=replace(deleted.event, event_time=START + timedelta(seconds=seconds)))
    older = build_stored(build_event(etag="e0", version_id="v0", sequence=1))
    (known,) = fold_known([older, listed, deleted], "landing", {})
    found = ListedObject(event.key, event.size or 0, "e1", None, event.event_time)
    assert Comparison(event.key, found, known).verdict == verdict
    assert Comparison(event.key, None, known).verdict == "vanished"
