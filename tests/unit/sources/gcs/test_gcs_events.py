"""Events that the conformance messages do not have."""

import pytest

from headwater.sources.message_parser import parse_message

GENERATION = "1780707723456789"


@pytest.mark.parametrize(
    ("event", "time", "generation", "expected"),
    [
        ("OBJECT_FINALIZE", "2026-06-06T01:02:03Z", GENERATION, "01:02:03.456789"),
        ("OBJECT_FINALIZE", "2026-06-06T01:02:03.5Z", GENERATION, "01:02:03.500000"),
        # Sent later: the time of the event is what its sender says.
        ("OBJECT_FINALIZE", "2026-06-06T01:02:04Z", GENERATION, "01:02:04"),
        ("OBJECT_FINALIZE", "2026-06-06T01:02:03Z", "7", "01:02:03"),
        ("OBJECT_DELETE", "2026-06-06T01:02:03Z", GENERATION, "01:02:03"),
    ],
)
def test_a_creation_in_whole_seconds_gets_the_microseconds_of_its_generation(
    event: str, time: str, generation: str, expected: str
) -> None:
    attributes = {
        "notificationConfig": "projects/_/buckets/landing/notificationConfigs/1",
        "eventType": event,
        "payloadFormat": "NONE",
        "bucketId": "landing",
        "objectId": "a.json",
        "objectGeneration": generation,
        "eventTime": time,
    }
    (found,) = parse_message("", attributes).events
    assert found.event_time.time().isoformat() == expected
