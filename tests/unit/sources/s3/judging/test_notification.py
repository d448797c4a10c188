"""Which set-ups of a bucket's notifications lose events, and what is said about each."""

import pytest

from headwater.sources.s3.judging.notification import WANTED_EVENTS, DesiredNotification, Route, judge_routes

QUEUE = "arn:aws:sqs:eu-west-1:1:landing"
ALL = frozenset(WANTED_EVENTS)


def to_queue(*events: str, prefix: str = "", suffix: str = "", arn: str = QUEUE) -> Route:
    return Route("queue", arn, frozenset(events) or ALL, prefix, suffix)


def judge(*routes: Route, prefix: str = "", needs_removals: bool = False) -> list[tuple[str, str]]:
    found = judge_routes(routes, DesiredNotification("bucket", QUEUE, prefix, needs_removals))
    assert all(finding.status == "ok" or finding.fix for finding in found)
    return [(finding.name.removeprefix("source.notification"), finding.status) for finding in found]


def test_all_events_straight_to_the_queue_are_good() -> None:
    assert judge(to_queue()) == [("", "ok")]


def test_events_may_be_named_one_by_one_over_several_notifications() -> None:
    created = [f"s3:ObjectCreated:{kind}" for kind in ("Put", "Post", "Copy", "CompleteMultipartUpload")]
    assert judge(to_queue(*created), to_queue("s3:ObjectRemoved:*", "s3:LifecycleExpiration:*")) == [
        ("", "ok")
    ]


def test_a_bucket_without_notifications_is_a_problem() -> None:
    assert judge() == [("", "problem")]


def test_notifications_to_others_only_are_a_problem_that_names_them() -> None:
    other = to_queue(arn="arn:aws:sqs:eu-west-1:1:other")
    [finding] = judge_routes([other], DesiredNotification("bucket", QUEUE))
    assert finding.status == "problem"
    assert other.target in finding.detail


@pytest.mark.parametrize("route", [Route("topic", "arn:aws:sns:eu-west-1:1:t", ALL), Route("eventbridge")])
def test_a_way_through_another_service_cannot_be_proved(route: Route) -> None:
    assert judge(route) == [("", "warning")]


def test_a_direct_way_makes_the_others_uninteresting() -> None:
    assert judge(to_queue(), Route("eventbridge")) == [("", "ok")]


def test_missing_multipart_notifications_are_a_problem() -> None:
    route = to_queue("s3:ObjectCreated:Put", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*")
    [finding] = judge_routes([route], DesiredNotification("bucket", QUEUE))
    assert (finding.name, finding.status) == ("source.notification.created", "problem")
    assert "s3:ObjectCreated:CompleteMultipartUpload" in finding.detail


@pytest.mark.parametrize(("needs_removals", "status"), [(True, "problem"), (False, "warning")])
def test_removals_are_a_must_only_where_a_table_mirrors(needs_removals: bool, status: str) -> None:
    route = to_queue("s3:ObjectCreated:*", "s3:LifecycleExpiration:*")
    assert judge(route, needs_removals=needs_removals) == [(".removed", status)]


def test_missing_expiration_notifications_are_a_warning() -> None:
    assert judge(to_queue("s3:ObjectCreated:*", "s3:ObjectRemoved:*")) == [(".expired", "warning")]


@pytest.mark.parametrize(
    ("filtered", "configured", "expected"),
    [
        ("", "in/", [("", "ok")]),
        ("in/", "in/orders/", [("", "ok")]),
        ("in/orders/", "in/", [(".filter", "warning")]),
        ("out/", "in/", [(".filter", "problem")]),
    ],
)
def test_a_prefix_filter_is_compared_with_the_configured_prefix(
    filtered: str, configured: str, expected: list[tuple[str, str]]
) -> None:
    assert judge(to_queue(prefix=filtered), prefix=configured) == expected


def test_a_suffix_filter_is_a_warning_that_quotes_it() -> None:
    [finding] = judge_routes([to_queue(suffix=".csv")], DesiredNotification("bucket", QUEUE))
    assert (finding.name, finding.status) == ("source.notification.filter", "warning")
    assert "end with '.csv'" in finding.detail
