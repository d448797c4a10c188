"""Findings about subscription and notifications."""

from dataclasses import replace
from datetime import timedelta

import pytest
from google.pubsub_v1 import ExpirationPolicy, PushConfig, Subscription

from headwater.config.source import GcsSourceConfig
from headwater.sources.gcs.judging import NotificationRule, judge_notifications, judge_subscription
from headwater.sources.gcs.observing import observe_subscription
from headwater.sources.planning.actions import Observed

TOPIC = "projects/acme/topics/landing"
NAME = "projects/acme/subscriptions/landing"
RULE = NotificationRule("1", TOPIC)


def build(prefix: str = "") -> GcsSourceConfig:
    fields = {"type": "gcs", "bucket": "acme-landing", "subscription": "landing", "prefix": prefix}
    return GcsSourceConfig.model_validate(fields)


def observe(subscription: Subscription) -> Observed:
    return observe_subscription("subscription", subscription)


def judge(*rules: NotificationRule, prefix: str = "", needs_removals: bool = True) -> list[tuple[str, str]]:
    found = judge_notifications(rules, build(prefix), TOPIC, needs_removals=needs_removals)
    return [(finding.status, finding.detail + finding.fix) for finding in found]


def test_a_rule_without_event_types_sends_all() -> None:
    assert [status for status, _ in judge(RULE)] == ["ok"]


@pytest.mark.parametrize("rules", [(), (NotificationRule("1", "projects/acme/topics/other"),)])
def test_no_rule_for_the_topic_is_a_problem_with_the_command(rules: tuple[NotificationRule, ...]) -> None:
    ((status, text),) = judge(*rules)
    assert status == "problem"
    assert f"gcloud storage buckets notifications create gs://acme-landing --topic={TOPIC}" in text


def test_missing_event_types_are_named() -> None:
    rule = replace(RULE, events=frozenset({"OBJECT_FINALIZE"}))
    assert [status for status, _ in judge(rule, needs_removals=False)] == ["ok"]
    ((status, text),) = judge(rule)
    assert status == "problem"
    assert "OBJECT_DELETE, OBJECT_ARCHIVE" in text
    others = replace(RULE, events=frozenset({"OBJECT_DELETE", "OBJECT_ARCHIVE"}))
    assert [status for status, _ in judge(rule, others)] == ["ok"]


def test_a_rule_for_other_keys_is_a_problem() -> None:
    rule = replace(RULE, prefix="orders/")
    assert [status for status, _ in judge(rule, prefix="orders/2026/")] == ["ok"]
    ((status, text),) = judge(rule)
    assert status == "problem"
    assert "'orders/'" in text


def test_a_subscription_that_pulls_is_good() -> None:
    never = Subscription(name=NAME, topic=TOPIC, expiration_policy=ExpirationPolicy())
    for subscription in (never, Subscription(name=NAME, topic=TOPIC)):
        (found,) = judge_subscription(build(), observe(subscription))
        assert (found.status, found.detail) == ("ok", f"{NAME} exists")


@pytest.mark.parametrize(
    ("subscription", "status", "text"),
    [
        (None, "warning", "pubsub.subscriptions.get is denied"),
        (
            Subscription(name=NAME, push_config=PushConfig(push_endpoint="https://x/y")),
            "problem",
            "https://x/y",
        ),
        (Subscription(name=NAME, topic="_deleted-topic_"), "problem", "was deleted"),
        (Subscription(name=NAME, topic=TOPIC, filter='attributes.x = "y"'), "warning", "filter"),
        (
            Subscription(name=NAME, topic=TOPIC, message_retention_duration=timedelta(hours=1)),
            "warning",
            "1.0 hours",
        ),
        (
            Subscription(name=NAME, topic=TOPIC, expiration_policy=ExpirationPolicy(ttl=timedelta(days=31))),
            "warning",
            "31 days",
        ),
    ],
)
def test_other_subscriptions_are_named(subscription: Subscription | None, status: str, text: str) -> None:
    found = judge_subscription(build(), observe(subscription) if subscription else None)[-1]
    assert found.status == status
    assert text in found.detail
    assert found.fix
