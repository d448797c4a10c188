"""`plan`, `up` and `down` on a real S3, SQS, SNS and EventBridge: what is there then, and what is not."""


import pytest

from headwater.app.resources import set_up
from tests.fixtures.cloud import Cloud

WAYS = ("sqs", "sns", "eventbridge")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("prefix", ["", "in/"])
def test_up_makes_everything_proves_it_and_a_second_time_does_nothing(
    cloud: Cloud, way: str, prefix: str
) -> None:
    settings = cloud.settings(notifications=way, prefix=prefix)
    report = set_up(settings, probe_seconds=20)
    assert {finding.status for finding in report.probe} == {"ok"}
    assert {finding.name for finding in report.probe} == {"probe.created", "probe.removed"}
    assert cloud.list_keys() == []

    again = set_up(settings, probe_seconds=None)
    assert again.applied == ()
    assert not again.plan.has_changes
    assert again.plan.orphans == ()
