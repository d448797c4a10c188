"""What the events of an object say lies under its key: what the tests of whole tables do not show."""

from dataclasses import replace

import pytest

from headwater.capture.reconcile.newest_state import is_certain_removal
from tests.fixtures.events import build_event


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
