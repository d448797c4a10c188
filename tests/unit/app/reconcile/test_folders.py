"""Which folders a batch of events names."""

from datetime import datetime, timezone

from headwater.app.reconcile.folders import find_folders
from headwater.capture.captured_event import CapturedEvent
from headwater.sources.object_event import EventKind, ObjectEvent

WHEN = datetime(2026, 11, 27, tzinfo=timezone.utc)


def build(key: str, kind: EventKind = "folder", bucket: str = "landing") -> CapturedEvent:
    event = ObjectEvent("azure", bucket, key, None, None, None, kind, "any", WHEN, None, None)
    return CapturedEvent(event, WHEN, "m")


def test_each_folder_once_and_none_below_another() -> None:
    batch = [build(key) for key in ("b/c", "a", "a/x", "a0", "b/c/", "b/cd", "a/x/y")]
    assert list(find_folders(batch, "landing")) == ["a/", "a0/", "b/c/", "b/cd/"]


def test_objects_and_other_containers_name_no_folder() -> None:
    batch = [build("a", "created"), build("b", "removed"), build("c", bucket="other")]
    assert not list(find_folders(batch, "landing"))
