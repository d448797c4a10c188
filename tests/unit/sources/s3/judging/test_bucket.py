"""Regions, and who has to be let into the queue."""

import json

import pytest

from headwater.config.source import S3SourceConfig
from headwater.sources.s3.judging.bucket import QueueView, judge_cleaning, judge_region, judge_way
from headwater.sources.s3.judging.notification import WANTED_EVENTS, DesiredNotification, Route

QUEUE = "arn:aws-cn:sqs:cn-north-1:1:landing"
WANTED = DesiredNotification("acme", QUEUE)
ALL = frozenset(WANTED_EVENTS)


@pytest.mark.parametrize(
    ("configured", "used", "status"),
    [
        ("eu-west-1", "eu-west-1", "ok"),
        ("eu-west-1", None, "ok"),
        (None, "eu-west-1", "ok"),
        (None, None, "ok"),
        (None, "aws-global", "ok"),
        (None, "us-east-1", "warning"),
        ("us-east-1", "us-east-1", "problem"),
    ],
)
def test_the_bucket_has_to_be_in_the_configured_region(
    configured: str | None, used: str | None, status: str
) -> None:
    finding = judge_region("source", "eu-west-1", configured, used)
    assert finding is not None
    assert finding.status == status
    assert status == "ok" or finding.fix == "set source.region to eu-west-1"


def test_store_without_region_has_none() -> None:
    assert judge_region("source", None, "eu-west-1", None) is None


def test_a_bucket_cannot_notify_a_queue_in_another_region() -> None:
    found = judge_way((), QueueView(QUEUE), WANTED, "cn-northwest-1")
    assert "source.queue.region" in [finding.name for finding in found]


@pytest.mark.parametrize(
    ("route", "sender"),
    [
        (Route("queue", QUEUE, ALL), "arn:aws-cn:s3:::acme"),
        (Route("topic", "arn:aws-cn:sns:x:1:t", ALL), "arn:aws-cn:sns:x:1:t"),
        (Route("eventbridge"), "events.amazonaws.com"),
    ],
)
def test_the_last_sender_on_the_way_has_to_be_let_in(route: Route, sender: str) -> None:
    found = judge_way((route,), QueueView(QUEUE), WANTED, "cn-north-1")
    statement = json.loads(found[-1].fix.partition(": ")[2])
    assert found[-1].name == "source.queue.policy"
    assert sender in json.dumps(statement)
    view = QueueView(QUEUE, json.dumps({"Statement": [statement]}))
    assert judge_way((route,), view, WANTED, "cn-north-1")[-1].status != "problem"


@pytest.mark.parametrize(
    ("options", "is_versioned", "status", "expected_message"),
    [
        ({"clean_source": "delete"}, True, "ok", "its versions are kept"),
        ({"clean_source": "delete"}, False, "warning", "deleted permanently"),
        ({"clean_source": "tag"}, False, "ok", "tagged"),
        ({"clean_source": "move", "clean_source_move_to": "s3://archive/x"}, False, "ok", "s3://archive/x"),
    ],
)
def test_cleaning_effect_and_reversibility_are_reported(
    options: dict[str, str], is_versioned: bool, status: str, expected_message: str
) -> None:
    source = S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", **options})
    finding = judge_cleaning(source, is_versioned=is_versioned)
    assert finding.status == status
    assert expected_message in finding.detail
    assert "30 days" in finding.detail
    assert bool(finding.fix) == (status == "warning")
