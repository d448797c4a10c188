"""Events that the conformance messages do not have: folders, unfinished files, snapshots."""

import json
from typing import Any

import pytest

from headwater.sources.message_parser import parse_message
from headwater.sources.object_event import ObjectEvent

FOLDER_URL = "https://acme.dfs.core.windows.net/landing"


def parse(event: str, name: str = "a/b.json", **data: Any) -> list[ObjectEvent]:
    record = {
        "subject": f"/blobServices/default/containers/landing/blobs/{name}",
        "eventType": f"Microsoft.Storage.{event}",
        "eventTime": "2026-11-27T08:00:00.1234567Z",
        "data": {"sequencer": "0A", **data},
    }
    parsed = parse_message(json.dumps(record))
    assert parsed.rejected is None, parsed.detail
    return list(parsed.events)


def describe(events: list[ObjectEvent]) -> list[tuple[str, str]]:
    return [(event.kind, event.key) for event in events]


def test_a_renamed_folder_is_two_folders() -> None:
    urls = {"sourceUrl": f"{FOLDER_URL}/old/in%20x", "destinationUrl": f"{FOLDER_URL}/new"}
    events = parse("DirectoryRenamed", "new", **urls)
    assert describe(events) == [("folder", "old/in x"), ("folder", "new")]
    assert events[0].event_id != events[1].event_id


def test_a_removed_folder_is_one() -> None:
    assert describe(parse("DirectoryDeleted", "old", recursive="true")) == [("folder", "old")]


@pytest.mark.parametrize("event", ["DirectoryCreated", "BlobTierChanged", "BlobPropertiesUpdated"])
def test_what_changes_no_content_is_other(event: str) -> None:
    assert [event.kind for event in parse(event)] == ["other"]


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("PutBlob", "created"),
        ("PutBlockList", "created"),
        ("CopyBlob", "created"),
        ("FlushWithClose", "created"),
        ("SftpCommit", "created"),
        ("CreateFile", "other"),
        ("SftpCreate", "other"),
    ],
)
def test_a_file_counts_when_its_content_is_complete(api: str, kind: str) -> None:
    assert [event.kind for event in parse("BlobCreated", api=api, contentLength=0)] == [kind]


@pytest.mark.parametrize("query", ["snapshot=2026-11-27T08:00:00Z", "versionid=2026-11-27T08:00:00Z"])
def test_the_removal_of_an_old_state_is_no_removal(query: str) -> None:
    url = "https://acme.blob.core.windows.net/landing/a/b.json"
    assert [event.kind for event in parse("BlobDeleted", url=f"{url}?{query}")] == ["other"]
    assert [event.kind for event in parse("BlobDeleted", url=url)] == ["removed"]
