"""Every conformance case, ours and those that lie beside the repository; then bodies and S3 records."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from headwater.sources.message_parser import MAX_BODY_BYTES, parse_message
from headwater.sources.notifications.outcome import ParsedMessage
from tests.fixtures.notification_bodies import s3_record

REPOSITORY = Path(__file__).parents[3]
FOLDERS = {
    "copy": REPOSITORY / "tests/fixtures/notifications",
    "shared": REPOSITORY.parent / "shared/conformance/notifications",
}
CASES = [
    pytest.param(path, id=f"{name}-{path.stem}")
    for name, folder in FOLDERS.items()
    if folder.is_dir()
    for path in sorted(folder.glob("*.json"))
]
UTC = timezone.utc


def parse_records(*records: object) -> ParsedMessage:
    return parse_message(json.dumps({"Records": records}))


def check(parsed: ParsedMessage, expect: dict[str, Any]) -> None:
    assert parsed.rejected == expect["rejected"], parsed.detail
    assert [skip.reason for skip in parsed.skipped] == [skip["reason"] for skip in expect["skipped"]]
    assert len(parsed.events) == len(expect["events"])
    for event, fields in zip(parsed.events, expect["events"], strict=True):
        wanted = dict(fields)
        time = wanted.pop("event_time", None)
        assert {name: getattr(event, name) for name in wanted} == wanted
        if time is not None:
            assert event.event_time == datetime.strptime(time, _time_format(time)).replace(tzinfo=UTC)
    if expect["rejected"] is None:
        rejected = [{"index": bad.index, "reason": bad.reason} for bad in parsed.rejected_records]
        assert rejected == expect.get("rejected_records", [])


def _time_format(text: str) -> str:
    return "%Y-%m-%dT%H:%M:%S.%fZ" if "." in text else "%Y-%m-%dT%H:%M:%SZ"


@pytest.mark.parametrize("path", CASES)
def test_conformance_case(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    check(parse_message(case["body"], case.get("attributes")), case["expect"])


def test_our_copy_holds_all_shared_cases() -> None:
    if not FOLDERS["shared"].is_dir():
        pytest.skip("the shared conformance folder is not beside this clone")
    for path in FOLDERS["shared"].glob("*.json"):
        assert (FOLDERS["copy"] / path.name).read_text("utf-8") == path.read_text("utf-8")


def test_two_deliveries_of_one_event_have_one_event_id() -> None:
    cases = [
        json.loads((FOLDERS["copy"] / f"s3-duplicate-delivery-{which}.json").read_text("utf-8"))
        for which in "ab"
    ]
    first, second = (parse_message(case["body"], case["attributes"]).events[0] for case in cases)
    assert first == second
    assert first.event_id == second.event_id


@pytest.mark.parametrize("body", [None, b"{}", 7, ["{}"], object()])
def test_a_body_that_is_no_text_is_rejected(body: Any) -> None:
    assert parse_message(body).rejected == "malformed_json"


@pytest.mark.parametrize(
    "attributes", [7, "eventType", [("a", 1)], {1: 2}, {"eventType": None, "objectId": 3}]
)
def test_odd_attributes_do_not_raise(attributes: Any) -> None:
    assert parse_message("", attributes).rejected is not None


@pytest.mark.parametrize(
    "body",
    [
        '{"Records": NaN}',
        '{"Records": -Infinity}',
        '{"Records": 1e999}',
        '{"Records": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"Records": []} x',
        "\ufeff\ufeff{}",
        '{"a": "\n"}',
        "   ",
    ],
    ids=[
        "nan",
        "infinity",
        "overflow",
        "huge-int",
        "deep-list",
        "deep-object",
        "tail",
        "two-marks",
        "lf",
        "blank",
    ],
)
def test_invalid_json_is_malformed(body: str) -> None:
    assert parse_message(body).rejected == "malformed_json"


def test_the_size_limit_counts_bytes_and_lets_the_limit_itself_pass() -> None:
    head, tail = '{"Records":[],"x":"', '"}'
    room = MAX_BODY_BYTES - len(head) - len(tail)
    assert parse_message(head + "a" * room + tail).skipped[0].reason == "empty_records"
    assert parse_message(head + "a" * (room + 1) + tail).rejected == "too_large"
    assert parse_message(head + "ü" * (room // 2 + 1) + tail).rejected == "too_large"


def test_a_too_large_body_is_not_parsed() -> None:
    assert parse_message("[" * (MAX_BODY_BYTES + 1)).rejected == "too_large"


def test_all_records_bad_is_a_rejection_with_the_reason_of_the_first() -> None:
    parsed = parse_records(s3_record(eventVersion="3.0"), s3_record(eventTime=None), "text")
    assert parsed.rejected == "unknown_shape"
    assert [bad.reason for bad in parsed.rejected_records] == [
        "unknown_shape",
        "missing_field",
        "unknown_shape",
    ]
    assert "record 1: eventTime is missing" in parsed.detail


def test_rejected_record_keeps_its_json_and_the_reason() -> None:
    bad = s3_record(object_={"key": ""})
    (rejected,) = parse_records(s3_record(), bad).rejected_records
    assert json.loads(rejected.raw) == bad
    assert rejected.detail == "key is empty"


@pytest.mark.parametrize(
    "record",
    [
        s3_record(eventName=""),
        s3_record(eventName="s3:"),
        s3_record(eventName=5),
        s3_record(eventTime="yesterday"),
        s3_record(eventTime="2026-13-01T00:00:00Z"),
        s3_record(eventTime="0001-01-01T00:00:00+01:00"),
        s3_record(eventTime="9999-12-31T23:59:59-01:00"),
        s3_record(s3=None),
        s3_record(s3={"object": {"key": "a"}}),
        s3_record(s3={"bucket": {"name": ""}, "object": {"key": "a"}}),
        s3_record(s3={"bucket": "landing", "object": {"key": "a"}}),
        s3_record(object_={"key": None}),
        s3_record(object_={"key": ["a"]}),
    ],
    ids=repr,
)
def test_a_required_field_that_is_not_there_is_missing(record: dict[str, Any]) -> None:
    assert parse_records(record).rejected == "missing_field"


@pytest.mark.parametrize(
    "record",
    [
        s3_record(eventSource="aws:sqs"),
        s3_record(eventSource=["aws:s3"]),
        s3_record(eventVersion=None),
        s3_record(eventVersion=2.1),
        s3_record(eventVersion="20.1"),
        s3_record(object_={"versionId": 5}),
        s3_record(object_={"eTag": {}}),
        s3_record(object_={"size": -1}),
        s3_record(object_={"size": 2**63}),
        s3_record(object_={"size": True}),
        s3_record(object_={"size": 1.5}),
        s3_record(object_={"size": "1_0"}),
        s3_record(object_={"size": "٣"}),
        s3_record(object_={"size": "9" * 100}),
    ],
    ids=repr,
)
def test_unknown_record_types_have_unknown_shape(record: dict[str, Any]) -> None:
    assert parse_records(record).rejected == "unknown_shape"


@pytest.mark.parametrize("field", ["key", "versionId", "sequencer", "eTag"])
def test_half_a_surrogate_pair_is_a_bad_encoding_in_any_field(field: str) -> None:
    parsed = parse_message(json.dumps({"Records": [s3_record(object_={field: "a\ud83d"}), s3_record()]}))
    assert [(bad.index, bad.reason) for bad in parsed.rejected_records] == [(0, "bad_encoding")]
    parsed.rejected_records[0].raw.encode("utf-8")


def test_half_a_surrogate_pair_elsewhere_leaves_a_raw_text_that_can_be_stored() -> None:
    record = s3_record(userIdentity={"principalId": "\udc00ü"})
    (event,) = parse_records(record).events
    event.raw.encode("utf-8")
    assert json.loads(event.raw) == record


def test_raw_is_the_record_as_compact_json() -> None:
    record = s3_record(extra={"name": "Käse", "n": 1})
    (event,) = parse_records(record).events
    assert event.raw == json.dumps(record, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    "number", ["123456789012345678901234567890", "18446744073709551616", "-9223372036854775809"]
)
def test_numbers_of_any_length_are_kept_digit_by_digit(number: str) -> None:
    body = json.dumps({"Records": [{**s3_record(), "requestId": 0}]}).replace(
        '"requestId": 0', f'"requestId": {number}'
    )
    (event,) = parse_message(body).events
    assert f'"requestId":{number}' in event.raw


@pytest.mark.parametrize(
    ("sent", "instant"),
    [
        ("2026-05-01T10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01T10:00:00+02:00", datetime(2026, 5, 1, 8, tzinfo=UTC)),
        ("2026-05-01t10:00:00-0230", datetime(2026, 5, 1, 12, 30, tzinfo=UTC)),
        ("2026-05-01T10:00:00.9999999z", datetime(2026, 5, 1, 10, 0, 0, 999_999, tzinfo=UTC)),
        ("2026-05-01T10:00:00.5Z", datetime(2026, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_times_become_utc_with_microseconds(sent: str, instant: datetime) -> None:
    (event,) = parse_records(s3_record(eventTime=sent)).events
    assert event.event_time == instant
    assert event.event_time.tzinfo is UTC


@pytest.mark.parametrize(
    ("event_name", "kind"),
    [
        ("s3:ObjectRemoved:Delete", "removed"),
        ("ObjectLifecycle:Expiration:Current", "removed"),
        ("ObjectLifecycle:Expiration:NonCurrent", "removed"),
        ("ObjectLifecycle:Expiration:DeleteMarker", "removed"),
        ("ObjectLifecycle:Expiration:AbortMultipartUpload", "other"),
        ("ObjectLifecycle:Transition:Current", "other"),
        ("ObjectRestore:Completed", "restored"),
        ("ObjectRestore:Post", "other"),
        ("ObjectRestore:Delete", "other"),
        ("ObjectTagging:Delete", "tagged"),
        ("ObjectCreatedOtherwise:Put", "other"),
    ],
)
def test_the_kind_follows_the_family(event_name: str, kind: str) -> None:
    (event,) = parse_records(s3_record(eventName=event_name)).events
    assert event.kind == kind
    assert event.event_name == event_name.removeprefix("s3:")


def test_removal_ignores_size_and_etag() -> None:
    record = s3_record(eventName="ObjectRemoved:Delete", object_={"size": "many", "eTag": 5})
    (event,) = parse_records(record).events
    assert (event.size, event.etag) == (None, None)


@pytest.mark.parametrize(
    ("sent", "size"), [("12", 12), (0, 0), ("", None), (None, None), (2**63 - 1, 2**63 - 1)]
)
def test_a_size_may_be_text_or_absent(sent: object, size: int | None) -> None:
    (event,) = parse_records(s3_record(object_={"size": sent})).events
    assert event.size == size


def test_the_folder_watcher_sends_raw_keys() -> None:
    record = s3_record(eventSource="headwater:local", object_={"key": "a+b%20c.json"})
    (event,) = parse_records(record).events
    assert (event.provider, event.key) == ("local", "a+b%20c.json")


def test_records_that_are_no_list_are_no_notification() -> None:
    assert parse_message('{"Records": null}').rejected == "unknown_shape"
    assert parse_message('{"Records": {"0": {}}}').rejected == "unknown_shape"


def test_rejection_detail_can_always_be_stored() -> None:
    hostile = '{"\\ud800": 1, "Bucket": "\\ud800"}'
    parsed = parse_message(hostile)
    assert parsed.rejected == "unknown_shape"
    parsed.detail.encode("utf-8")
    skipped = parse_message('{"Event": "s3:TestEvent", "Bucket": "\\ud800"}').skipped
    skipped[0].detail.encode("utf-8")
