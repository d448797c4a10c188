"""Which queue attributes lose notifications or hold them back."""

import json
from typing import Any

import pytest

from headwater.sources.s3.judging.queue_attributes import judge_attributes

DAY = 86_400
GOOD = {
    "MessageRetentionPeriod": str(14 * DAY),
    "MaximumMessageSize": "262144",
    "RedrivePolicy": json.dumps(
        {"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:1:dead", "maxReceiveCount": "10"}
    ),
    "DelaySeconds": "0",
    "SqsManagedSseEnabled": "true",
    "ApproximateNumberOfMessages": "3",
    "ApproximateNumberOfMessagesNotVisible": "1",
}


def judge(visibility_timeout: int = 30, **changes: str) -> dict[str, str]:
    """Status by name of what is not good."""
    found = judge_attributes({**GOOD, **changes}, visibility_timeout)
    assert all(finding.fix for finding in found if finding.status != "ok")
    return {
        finding.name.removeprefix("source.queue."): finding.status
        for finding in found
        if finding.status != "ok"
    }


def test_a_queue_made_for_it_is_good() -> None:
    assert judge() == {}


def test_attributes_that_a_service_does_not_have_are_passed_over() -> None:
    found = judge_attributes({"RedrivePolicy": GOOD["RedrivePolicy"]}, 30)
    assert {finding.status for finding in found} == {"ok"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"FifoQueue": "true"}, {"type": "problem"}),
        ({"MessageRetentionPeriod": str(4 * DAY)}, {}),
        ({"MessageRetentionPeriod": str(4 * DAY - 1)}, {"retention": "warning"}),
        ({"MessageRetentionPeriod": str(DAY - 1)}, {"retention": "problem"}),
        ({"MaximumMessageSize": "65536"}, {}),
        ({"MaximumMessageSize": "65535"}, {"message_size": "problem"}),
        ({"RedrivePolicy": ""}, {"redrive": "warning"}),
        ({"RedrivePolicy": "{}"}, {"redrive": "warning"}),
        ({"RedrivePolicy": '{"maxReceiveCount": 3}'}, {}),
        ({"RedrivePolicy": '{"maxReceiveCount": 2}'}, {"redrive": "problem"}),
        ({"KmsMasterKeyId": "alias/aws/sqs"}, {"encryption": "problem"}),
        ({"KmsMasterKeyId": "alias/acme"}, {"encryption": "warning"}),
        ({"DelaySeconds": "30"}, {"delay": "warning"}),
        ({"ApproximateNumberOfMessagesNotVisible": "100000"}, {"depth": "warning"}),
    ],
)
def test_each_dangerous_attribute_has_its_finding(changes: dict[str, Any], expected: dict[str, str]) -> None:
    assert judge(**changes) == expected


def test_a_short_visibility_time_out_is_a_warning() -> None:
    assert judge(visibility_timeout=9) == {"visibility": "warning"}
