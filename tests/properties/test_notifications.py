"""Notification parsing: nothing raises, nothing is dropped, keys survive, one bad record harms no other."""

import json
from typing import Any
from urllib.parse import quote, quote_plus

from hypothesis import assume, example, given
from hypothesis import strategies as st

from headwater.sources.message_parser import parse_message
from headwater.sources.notifications.outcome import ParsedMessage
from headwater.sources.object_event import ObjectEvent
from tests.fixtures.notification_bodies import GCS_ATTRIBUTES, azure_body, event_bus_body, s3_record

REASONS = {"malformed_json", "unknown_shape", "missing_field", "too_large", "bad_encoding"}
MAX_KEY_BYTES = 1024

# Words of the formats, so that generated objects come near to real ones.
NAMES = st.sampled_from(
    [
        *(
            "Records",
            "Type",
            "Message",
            "Event",
            "eventType",
            "type",
            "subject",
            "data",
            "detail",
            "detail-type",
        ),
        *(
            "source",
            "time",
            "message",
            "attributes",
            "s3",
            "bucket",
            "object",
            "key",
            "name",
            "size",
            "sequencer",
        ),
        *("eventName", "eventTime", "eventVersion", "eventSource"),
    ]
)
WORDS = st.sampled_from(
    [
        *("Notification", "s3:TestEvent", "aws:s3", "ceph:s3", "aws.s3", "2.1", "2026-05-01T00:00:00Z"),
        *("ObjectCreated:Put", "Object Created", "OBJECT_FINALIZE", "Microsoft.Storage.BlobCreated"),
        *("Microsoft.Storage.BlobRenamed", "/blobServices/default/containers/c/blobs/b"),
        *("\ud83d", "%FF", "", "{}", "[]"),
    ]
)
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | WORDS
JSON_VALUES = st.recursive(
    SCALARS,
    lambda children: st.lists(children) | st.dictionaries(NAMES | ANY_TEXT, children),
    max_leaves=25,
)
KEYS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('+% "\\#?&=/*2BFe\n'),
    min_size=1,
    max_size=1024,
).filter(lambda key: len(key.encode("utf-8")) <= MAX_KEY_BYTES)


def ensure_accounted_for(parsed: ParsedMessage) -> None:
    """The body ended as events, skips or a rejection; all of it can be stored; no bug was caught."""
    assert parsed.events or parsed.skipped or parsed.rejected in REASONS
    assert not (parsed.rejected and (parsed.events or parsed.skipped))
    assert not parsed.detail.startswith("internal error")
    for bad in parsed.rejected_records:
        assert bad.reason in REASONS
        (bad.detail + bad.raw).encode("utf-8")
    for skip in parsed.skipped:
        skip.detail.encode("utf-8")
    for event in parsed.events:
        ensure_storable(event)
    parsed.detail.encode("utf-8")


def ensure_storable(event: ObjectEvent) -> None:
    texts = (
        event.bucket,
        event.key,
        event.version_id,
        event.sequencer,
        event.event_name,
        event.etag,
        event.raw,
    )
    for text in texts:
        (text or "").encode("utf-8")
    assert event.bucket
    assert event.key
    assert event.event_time.utcoffset() is not None
    assert event.size is None or 0 <= event.size < 2**63
    json.loads(event.raw)
    assert len(event.event_id) == 32


def replace_somewhere(value: object, path: list[int], new: object) -> object:
    """`value` with one of its parts, chosen by `path`, replaced by `new`."""
    if not path or not isinstance(value, (dict, list)) or not value:
        return new
    keys: Any = list(value) if isinstance(value, dict) else range(len(value))
    chosen = keys[path[0] % len(keys)]
    copy: Any = value.copy()
    copy[chosen] = replace_somewhere(value[chosen], path[1:], new)
    return copy


GOOD_BODIES = st.sampled_from(
    [
        {"Records": [s3_record(), s3_record(eventName="ObjectRemoved:Delete")]},
        event_bus_body(),
        azure_body(),
        [azure_body("Microsoft.Storage.BlobRenamed", sourceUrl="https://h/c/b"), azure_body()],
        {"message": {"attributes": GCS_ATTRIBUTES, "data": "e30="}},
        {"Type": "Notification", "Message": json.dumps({"Records": [s3_record()]})},
    ]
)


@given(ANY_TEXT)
def test_any_text_ends_as_an_outcome(body: str) -> None:
    ensure_accounted_for(parse_message(body))


@given(JSON_VALUES)
def test_any_json_value_ends_as_an_outcome(value: object) -> None:
    ensure_accounted_for(parse_message(json.dumps(value)))
    ensure_accounted_for(parse_message(json.dumps(value, ensure_ascii=False)))


@given(JSON_VALUES, st.dictionaries(st.sampled_from(sorted(GCS_ATTRIBUTES)) | ANY_TEXT, ANY_TEXT))
def test_any_attributes_end_as_an_outcome(value: object, attributes: dict[str, str]) -> None:
    ensure_accounted_for(parse_message(json.dumps(value), attributes))
    ensure_accounted_for(parse_message(json.dumps(value), GCS_ATTRIBUTES | attributes))


@given(GOOD_BODIES, st.lists(st.integers(0, 20), min_size=1, max_size=6), JSON_VALUES)
def test_any_value_for_any_part_has_an_outcome(body: object, path: list[int], new: object) -> None:
    ensure_accounted_for(parse_message(json.dumps(replace_somewhere(body, path, new))))


@given(st.integers(1, 200_000), st.sampled_from(["[", '{"Records":[', '{"a":', '[{"eventType":']))
def test_any_depth_ends_as_an_outcome(depth: int, opening: str) -> None:
    ensure_accounted_for(parse_message(opening * depth))
    closing = "".join({"[": "]", "{": "}"}[c] for c in reversed(opening) if c in "[{")
    ensure_accounted_for(parse_message(opening * depth + "0" + closing * depth))


@given(st.integers(1, 5_000))
def test_a_deep_record_harms_no_other(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    good = json.dumps(s3_record())
    parsed = parse_message(f'{{"Records":[{good},{good[:-1]},"deep":{deep}}},{good}]}}')
    ensure_accounted_for(parsed)
    # Either the JSON parser refuses the body whole, or the two good records are there.
    assert parsed.rejected == "malformed_json" or len(parsed.events) >= 2


@given(KEYS)
@example("a+b c%20d%2B%41%25%zz%")
@example('"\\#?/../ //\n')
def test_any_key_survives_the_form_encoding_of_s3(key: str) -> None:
    for source in ("aws:s3", "minio:s3", "rustfs:s3"):
        for encoded in (quote_plus(key), quote_plus(key, safe="/*"), quote(key, safe="")):
            record = s3_record(eventSource=source, object_={"key": encoded})
            assert parse_message(json.dumps({"Records": [record]})).events[0].key == key


@given(KEYS, st.booleans())
@example("a+b c%20d%2B%41%25%zz%FF", True)
def test_any_raw_key_stays_as_it_is(key: str, ascii_only: bool) -> None:
    attributes = GCS_ATTRIBUTES | {"objectId": key}
    subject = f"/blobServices/default/containers/landing/blobs/{key}"
    detail = {"bucket": {"name": "landing"}, "object": {"key": key}}
    bodies: list[object] = [
        {"Records": [s3_record(eventSource="ceph:s3", object_={"key": key})]},
        {"Records": [s3_record(eventSource="headwater:local", object_={"key": key})]},
        event_bus_body(detail=detail),
        azure_body() | {"subject": subject},
        {"message": {"attributes": attributes, "data": "e30="}},
    ]
    for body in bodies:
        text = json.dumps(body, ensure_ascii=ascii_only)
        assert parse_message(text).events[0].key == key
        enveloped = json.dumps({"Type": "Notification", "Message": text}, ensure_ascii=ascii_only)
        assert parse_message(enveloped).events[0].key == key
    assert parse_message("{}", attributes).events[0].key == key


BAD_RECORDS = st.sampled_from(
    [
        s3_record(eventVersion="3.0"),
        s3_record(eventSource="aws:sqs"),
        s3_record(eventTime="soon"),
        s3_record(object_={"key": ""}),
        s3_record(object_={"key": "%FF"}),
        s3_record(object_={"size": -1}),
    ]
) | SCALARS.filter(lambda value: not isinstance(value, float))


@given(st.lists(st.tuples(st.booleans(), BAD_RECORDS), min_size=1, max_size=20))
def test_exactly_the_bad_records_are_rejected(plan: list[tuple[bool, object]]) -> None:
    records = [
        s3_record(object_={"key": f"part-{index}"}) if good else bad for index, (good, bad) in enumerate(plan)
    ]
    good = [index for index, (is_good, _) in enumerate(plan) if is_good]
    parsed = parse_message(json.dumps({"Records": records}))
    assert [event.key for event in parsed.events] == [f"part-{index}" for index in good]
    assert [bad.index for bad in parsed.rejected_records] == [i for i in range(len(plan)) if i not in good]
    assert [json.loads(event.raw) for event in parsed.events] == [records[index] for index in good]
    assert (parsed.rejected is None) == bool(good)
    if not good:
        assert parsed.rejected == parsed.rejected_records[0].reason


OBJECTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["a", "a/b", "ab", "%2B", "%252B"]),
        "versionId": st.sampled_from([None, "null", "v1", "v11"]),
        "sequencer": st.sampled_from([None, "01", "0a", "0B"]),
    }
)


def parse_one(stored: dict[str, object], **changes: object) -> ObjectEvent:
    return parse_message(json.dumps({"Records": [s3_record(object_=stored, **changes)]})).events[0]


@given(OBJECTS, st.text(max_size=5), st.integers(0, 10))
def test_a_redelivery_has_the_same_event_id(stored: dict[str, object], request: str, indent: int) -> None:
    first = parse_one(stored)
    # The transport's part may differ, and the layout, and the way it came.
    record = s3_record(object_=stored, responseElements={"x-amz-request-id": request})
    body = json.dumps({"Records": [record]}, indent=indent)
    again = parse_message(json.dumps({"Type": "Notification", "Message": body}), {"MessageId": request})
    assert again.events[0].event_id == first.event_id


@given(OBJECTS, OBJECTS)
def test_another_object_version_or_sequencer_has_another_event_id(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assume(one != other)
    assert parse_one(one).event_id != parse_one(other).event_id


@given(st.sampled_from(["aws:s3", "headwater:local"]), st.sampled_from(["a", "b"]), OBJECTS)
def test_another_provider_or_bucket_has_another_event_id(
    source: str, bucket: str, stored: dict[str, object]
) -> None:
    event = parse_one(stored)
    other = parse_one(stored, eventSource=source, s3={"bucket": {"name": bucket}, "object": stored})
    assert other.event_id != event.event_id
    assert other.object_id != event.object_id


@given(OBJECTS)
def test_a_creation_and_a_removal_have_different_event_ids(stored: dict[str, object]) -> None:
    assert parse_one(stored).event_id != parse_one(stored, eventName="ObjectRemoved:Delete").event_id


@given(st.sampled_from(["ObjectTagging:Put", "ObjectTagging:Delete"]), st.integers(0, 999))
def test_without_a_sequencer_time_and_name_distinguish_events(name: str, millisecond: int) -> None:
    stored: dict[str, object] = {"sequencer": None}
    first = parse_one(stored, eventName="ObjectTagging:Put", eventTime="2026-05-01T00:00:00.000Z")
    other = parse_one(stored, eventName=name, eventTime=f"2026-05-01T00:00:00.{millisecond:03}Z")
    same = name == first.event_name and millisecond == 0
    assert (first.event_id == other.event_id) == same
