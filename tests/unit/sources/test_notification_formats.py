"""SNS, EventBridge, GCS and Azure bodies: what the conformance cases leave open."""

import base64
import json
from datetime import datetime, timezone
from typing import Any

import pytest

from headwater.sources.message_parser import parse_message
from tests.fixtures.notification_bodies import GCS_ATTRIBUTES, azure_body, event_bus_body, s3_record

UTC = timezone.utc


def test_an_unsubscribe_confirmation_is_skipped() -> None:
    (skip,) = parse_message('{"Type": "UnsubscribeConfirmation", "Message": "bye"}').skipped
    assert skip.reason == "unsubscribe_confirmation"


def test_a_topic_that_feeds_a_topic_is_unwrapped() -> None:
    body = json.dumps({"Records": [s3_record()]})
    for _ in range(3):
        body = json.dumps({"Type": "Notification", "Message": body})
    assert parse_message(body).events[0].key == "in/a.json"


def test_envelopes_without_end_are_rejected() -> None:
    body = "{}"
    for _ in range(10):
        body = json.dumps({"Type": "Notification", "Message": body})
    assert parse_message(body).rejected == "unknown_shape"


@pytest.mark.parametrize(
    ("time", "instant"),
    [
        (1780459506, datetime(2026, 6, 3, 4, 5, 6, tzinfo=UTC)),
        (1780459506.1234567, datetime(2026, 6, 3, 4, 5, 6, 123_456, tzinfo=UTC)),
    ],
)
def test_an_event_bus_time_may_be_epoch_seconds(time: float, instant: datetime) -> None:
    assert parse_message(json.dumps(event_bus_body(time=time))).events[0].event_time == instant


@pytest.mark.parametrize("time", [10**400, -(10**11), 1e300, 10**10, True, [], "1780459506"])
def test_an_event_bus_time_that_is_none_is_missing(time: object) -> None:
    assert parse_message(json.dumps(event_bus_body(time=time))).rejected == "missing_field"


@pytest.mark.parametrize(
    "changes", [{"source": "aws.ec2"}, {"detail-type": "AWS API Call"}, {"detail-type": None}]
)
def test_other_events_of_the_bus_are_of_unknown_shape(changes: dict[str, Any]) -> None:
    assert parse_message(json.dumps(event_bus_body(**changes))).rejected == "unknown_shape"


def test_an_event_bus_event_without_detail_misses_its_bucket() -> None:
    assert parse_message(json.dumps(event_bus_body(detail=None))).rejected == "missing_field"


def test_gcs_without_payload_has_no_size() -> None:
    (event,) = parse_message("", GCS_ATTRIBUTES | {"payloadFormat": "NONE"}).events
    assert (event.key, event.version_id, event.size) == ("a+b%20c", "1780707723456789", None)


def test_gcs_push_is_pull_in_base64() -> None:
    resource = json.dumps({"size": "12", "etag": "CAE="})
    message = {"attributes": GCS_ATTRIBUTES, "data": base64.b64encode(resource.encode()).decode()}
    pushed = parse_message(json.dumps({"message": message, "subscription": "s"})).events
    assert pushed == parse_message(resource, {**GCS_ATTRIBUTES, "MessageId": "transport"}).events


@pytest.mark.parametrize("data", ["%%%", "/w==", "ü", 5, None])
def test_gcs_push_with_unusable_data_is_malformed(data: object) -> None:
    body = {"message": {"attributes": GCS_ATTRIBUTES, "data": data}}
    assert parse_message(json.dumps(body)).rejected == "malformed_json"


def test_gcs_reports_missing_attributes() -> None:
    attributes = {name: value for name, value in GCS_ATTRIBUTES.items() if name != "bucketId"}
    assert parse_message("{}", attributes).rejected == "missing_field"


def test_gcs_orders_the_two_events_of_an_overwrite() -> None:
    def order_key(event_type: str, generation: str) -> str:
        attributes = GCS_ATTRIBUTES | {"eventType": event_type, "objectGeneration": generation}
        return parse_message("{}", attributes).events[0].order_key or ""

    old, new = "1780707723456789", "1780707723456790"
    order = [
        order_key("OBJECT_FINALIZE", old),
        order_key("OBJECT_DELETE", old),
        order_key("OBJECT_FINALIZE", new),
    ]
    assert order == sorted(set(order))
    assert order_key("OBJECT_ARCHIVE", old) == order[1]


def test_an_azure_rename_is_a_removal_and_a_creation() -> None:
    url = "https://acct.dfs.core.windows.net/landing/dir/old%20%C3%BC+name.csv?sig=x"
    body = azure_body("Microsoft.Storage.BlobRenamed", sourceUrl=url)
    removed, created = parse_message(json.dumps(body)).events
    assert (removed.kind, removed.bucket, removed.key) == ("removed", "landing", "dir/old ü+name.csv")
    assert (created.kind, created.bucket, created.key) == ("created", "landing", "dir/new.csv")
    assert removed.order_key == created.order_key
    assert removed.event_id != created.event_id


@pytest.mark.parametrize(
    ("url", "reason"),
    [(None, "missing_field"), ("https://acct/landing", "missing_field"), ("https://a/b/%FF", "bad_encoding")],
)
def test_azure_rename_without_source_is_rejected_completely(url: str | None, reason: str) -> None:
    parsed = parse_message(json.dumps(azure_body("Microsoft.Storage.BlobRenamed", sourceUrl=url)))
    assert (parsed.rejected, parsed.events) == (reason, ())


def test_bad_azure_events_among_good_ones_are_reported_by_index() -> None:
    bad = azure_body() | {"subject": "/blobServices/default"}
    parsed = parse_message(json.dumps([azure_body(), bad, {"eventType": "Other"}, azure_body()]))
    assert len(parsed.events) == 2
    assert [(item.index, item.reason) for item in parsed.rejected_records] == [
        (1, "missing_field"),
        (2, "unknown_shape"),
    ]


def test_azure_tier_changes_and_directories_are_other() -> None:
    assert (
        parse_message(json.dumps(azure_body("Microsoft.Storage.BlobTierChanged"))).events[0].kind == "other"
    )
