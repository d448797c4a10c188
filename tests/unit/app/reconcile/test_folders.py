"""Which folders a batch of events names."""

from datetime import datetime, timezone

import pytest

from headwater.app.reconcile.folders import FolderEvents, find_folders
from headwater.capture.captured_event import CapturedEvent
from headwater.errors import CredentialsError, LakeError, SourceUnavailableError
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


def settle(*errors: Exception) -> list[str]:
    """Settle two folders, the first ones with these errors; return those that were tried."""
    tried: list[str] = []
    left = list(errors)

    def settle_folder(folder: str) -> None:
        tried.append(folder)
        if left:
            raise left.pop(0)

    FolderEvents("landing", settle_folder).settle([build("a"), build("b")])
    return tried


def test_a_folder_that_cannot_be_listed_does_not_hold_back_the_events() -> None:
    assert settle(CredentialsError("denied")) == ["a/", "b/"]


@pytest.mark.parametrize(
    "error", [SourceUnavailableError("busy"), LakeError("no space")], ids=["source", "lake"]
)
def test_what_may_succeed_later_keeps_the_messages(error: Exception) -> None:
    with pytest.raises(type(error)):
        settle(error)
