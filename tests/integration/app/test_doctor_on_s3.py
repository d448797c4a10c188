"""`diagnose` and `check_before_run` against a real S3 and SQS: each fault gives exactly its finding."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from headwater.app.doctor import check_source
from headwater.app.lake_check import check_lake
from headwater.app.preflight import check_before_run
from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.demo.landing_zone import LandingZone, find_queue_arn
from headwater.errors import (
    BucketNotFoundError,
    CredentialsError,
    HeadwaterError,
    QueueNotFoundError,
    SourceUnavailableError,
)
from headwater.observability.clock import ManualClock, SystemClock
from headwater.sources.s3.judging.notification import WANTED_EVENTS
from tests.fixtures.emulator import EmulatorSession


@dataclass(frozen=True)
class Place:
    """A landing zone set up as it should be, and what is changed of its configuration."""

    emulator: EmulatorSession
    zone: LandingZone
    folder: Path
    source: dict[str, object] = field(default_factory=dict)
    queue: dict[str, object] = field(default_factory=dict)

    @property
    def queue_arn(self) -> str:
        return find_queue_arn(self.emulator.clients, self.zone.queue_url)

    def set_queue(self, **attributes: str) -> None:
        given: dict[Any, str] = {**attributes}
        self.emulator.clients.sqs.set_queue_attributes(QueueUrl=self.zone.queue_url, Attributes=given)

    def set_notification(self, configuration: Any) -> None:
        self.emulator.clients.s3.put_bucket_notification_configuration(
            Bucket=self.zone.bucket, NotificationConfiguration=configuration
        )

    def settings(self, lake: str = "") -> Settings:
        endpoint = self.emulator.endpoint
        queue = {"url": self.zone.queue_url, "region": "us-east-1", **self.queue}
        source = {"type": "s3", "bucket": self.zone.bucket, "endpoint": endpoint, **self.source}
        return Settings.model_validate(
            {
                "source": {**source, "queue": queue},
                "lake": lake or str(self.folder / "lake"),
                "lake_storage": {"endpoint": endpoint},
                "tables": {"a": {"path": "*.json"}},
            }
        )

    def list_troubles(self) -> dict[str, str]:
        """Status by name of what is not good; each has a fix."""
        found = check_source(self.settings(), SystemClock())
        troubles = [finding for finding in found if finding.status != "ok"]
        assert all(finding.fix for finding in troubles)
        return {finding.name: finding.status for finding in troubles}


@pytest.fixture
def place(emulator: EmulatorSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, emulator.environment[name])
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    built = Place(emulator, emulator.create_landing_zone(), tmp_path)
    allow_only(built, f"arn:aws:s3:::{built.zone.bucket}")
    dead = find_queue_arn(emulator.clients, emulator.create_queue())
    built.set_queue(RedrivePolicy=json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": "10"}))
    notify(built)
    return built


def allow_only(place: Place, source_arn: str) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": place.queue_arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": source_arn}},
    }
    place.set_queue(Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))


def notify(place: Place, *events: str, **filters: str) -> None:
    rules = [{"Name": name, "Value": value} for name, value in filters.items()]
    target: dict[str, object] = {"QueueArn": place.queue_arn, "Events": list(events or WANTED_EVENTS)}
    if rules:
        target["Filter"] = {"Key": {"FilterRules": rules}}
    place.set_notification({"QueueConfigurations": [target]})


def test_a_bucket_and_a_queue_set_up_as_they_should_be_are_good(place: Place) -> None:
    assert place.list_troubles() == {}
    check_before_run(place.settings(), read_environment())


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda place: place.set_queue(Policy=""), {"source.queue.policy": "problem"}),
        (lambda place: allow_only(place, "arn:aws:s3:::other"), {"source.queue.policy": "problem"}),
        (lambda place: place.set_notification({}), {"source.notification": "problem"}),
        (lambda place: place.set_queue(MessageRetentionPeriod="3600"), {"source.queue.retention": "problem"}),
        (
            lambda place: place.set_queue(MessageRetentionPeriod="172800"),
            {"source.queue.retention": "warning"},
        ),
        (lambda place: place.set_queue(MaximumMessageSize="1024"), {"source.queue.message_size": "problem"}),
        (
            lambda place: notify(place, "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"),
            {"source.notification.created": "problem"},
        ),
        (lambda place: notify(place, prefix="in/"), {"source.notification.filter": "warning"}),
        (
            lambda place: notify(place, "s3:ObjectCreated:*"),
            {"source.notification.removed": "warning", "source.notification.expired": "warning"},
        ),
    ],
)
def test_each_fault_gives_exactly_its_finding(
    place: Place, spoil: Callable[[Place], None], expected: dict[str, str]
) -> None:
    spoil(place)
    assert place.list_troubles() == expected


def test_a_bucket_in_another_region_gives_exactly_its_finding(place: Place) -> None:
    place = replace(place, source={"region": "eu-west-1"})
    assert place.list_troubles() == {"source.region": "problem"}


@pytest.mark.parametrize(
    ("change", "name", "expected"),
    [
        ({"source": {"bucket": "no-such-bucket"}}, "source.bucket", BucketNotFoundError),
        ({"queue": {"region": "eu-west-1"}}, "source.queue", QueueNotFoundError),
        ({"source": {"endpoint": "http://127.0.0.1:9"}}, "source.bucket", SourceUnavailableError),
    ],
)
def test_missing_bucket_is_reported_once_and_stops_a_run(
    place: Place, change: dict[str, Any], name: str, expected: type[HeadwaterError]
) -> None:
    place = replace(place, **change)
    assert place.list_troubles() == {name: "problem"}
    with pytest.raises(expected) as caught:
        check_before_run(place.settings(), read_environment())
    assert type(caught.value) is expected
    assert caught.value.hint


def test_missing_credentials_are_reported_once_and_stop_a_run(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(place.folder / "none"))
    assert place.list_troubles() == {"credentials": "problem"}
    with pytest.raises(CredentialsError, match="no credentials"):
        check_before_run(place.settings(), read_environment())


def test_a_fifo_queue_is_refused_with_the_configuration(place: Place) -> None:
    url = place.emulator.clients.sqs.create_queue(
        QueueName=f"{uuid.uuid4().hex}.fifo", Attributes={"FifoQueue": "true"}
    )["QueueUrl"]
    with pytest.raises(ValueError, match="FIFO"):
        replace(place, queue={"url": url}).settings()


def test_a_way_through_eventbridge_cannot_be_proved(place: Place) -> None:
    place.set_notification({"EventBridgeConfiguration": {}})
    # The queue lets in S3 itself, and not EventBridge.
    assert place.list_troubles() == {"source.notification": "warning", "source.queue.policy": "problem"}


@pytest.mark.parametrize(("minutes", "status"), [(2, "warning"), (-10, "problem")])
def test_clock_skew_is_reported(place: Place, minutes: int, status: str) -> None:
    clock = ManualClock(datetime.now(timezone.utc) + timedelta(minutes=minutes))
    found = {finding.name: finding.status for finding in check_source(place.settings(), clock)}
    assert found["clock"] == status


def test_a_lake_in_a_bucket_is_tried_and_left_as_it_was(place: Place) -> None:
    lake = f"s3a://{place.zone.bucket}/bronze"
    assert [finding.status for finding in check_lake(place.settings(lake))] == ["ok"]
    assert "Contents" not in place.emulator.clients.s3.list_objects_v2(Bucket=place.zone.bucket)


def test_a_lake_in_a_bucket_that_is_not_there_is_a_problem(place: Place) -> None:
    [finding] = check_lake(place.settings("s3a://no-such-bucket/bronze"))
    assert (finding.name, finding.status) == ("lake", "problem")
    assert finding.fix


def test_a_lake_in_another_region_than_spark_signs_for_is_a_problem(place: Place) -> None:
    bucket = f"lake-{uuid.uuid4().hex[:12]}"
    place.emulator.clients.s3.create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
    )
    found = check_lake(place.settings(f"s3a://{bucket}/bronze"))
    assert [finding.name for finding in found if finding.status == "problem"] == ["lake_storage.region"]


def test_irreversible_cleaning_and_missing_target_are_reported(place: Place) -> None:
    deleting = replace(place, source={"clean_source": "delete"})
    assert deleting.list_troubles() == {"source.clean_source": "warning"}
    place.emulator.clients.s3.put_bucket_versioning(
        Bucket=place.zone.bucket, VersioningConfiguration={"Status": "Enabled"}
    )
    assert deleting.list_troubles() == {}
    target = f"archive-{uuid.uuid4().hex[:12]}"
    moving = replace(place, source={"clean_source": "move", "clean_source_move_to": f"s3://{target}/old"})
    assert moving.list_troubles() == {"source.clean_source_move_to": "problem"}
    place.emulator.clients.s3.create_bucket(Bucket=target)
    assert moving.list_troubles() == {}
