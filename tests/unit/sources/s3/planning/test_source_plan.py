"""The plan of a whole source: a queue of the user's, a queue that is missing, another region, orphans."""

import json

from headwater.config.source import S3SourceConfig
from headwater.sources.planning.actions import Observed
from headwater.sources.provisioner import Plan
from headwater.sources.s3.planning.desired import Addresses, Site
from headwater.sources.s3.planning.notification_rules import Configuration
from headwater.sources.s3.planning.ownership import build_owner
from headwater.sources.s3.planning.source_plan import SourceState, plan_source, plan_source_removal

SITE = Site("123456789012", "eu-west-1")
URL = "https://sqs.eu-west-1.amazonaws.com/123456789012/mine"
MINE = "arn:aws:sqs:eu-west-1:123456789012:mine"
OWNER = build_owner("s3a://lake", "acme")


def configure(**fields: object) -> S3SourceConfig:
    return S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", **fields})


def plan(
    source: S3SourceConfig,
    *observed: Observed,
    region: str | None = "eu-west-1",
    adopt: bool = False,
    tagged: tuple[tuple[str, str, str], ...] = (),
    notification: Configuration | None = None,
) -> Plan:
    arn = next((item.address for item in observed if item.kind == "queue"), "")
    addresses = Addresses.of(source, SITE, arn)
    state = SourceState(SITE, addresses, region, notification or {}, observed, tagged)  # type: ignore[arg-type]
    return plan_source(source, OWNER, state, adopt, False)


def my_queue(policy: object = None, **tags: str) -> Observed:
    return Observed("queue", "mine", MINE, {"Policy": json.dumps(policy)} if policy else {}, tags)


def test_a_first_plan_creates_everything_in_order() -> None:
    found = plan(configure(notifications="sns"))
    assert [(item.kind, item.change) for item in found.actions] == [
        ("dead_letter_queue", "create"),
        ("queue", "create"),
        ("topic", "create"),
        ("subscription", "create"),
        ("notification", "create"),
    ]
    assert found.has_changes
    assert found.problems == ()


def test_a_queue_of_the_users_is_left_as_it_is_and_gets_the_notification() -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": MINE,
        "Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:s3:::acme"}},
    }
    found = plan(configure(queue={"url": URL}), my_queue({"Statement": [statement]}))
    assert [(item.kind, item.change) for item in found.actions] == [
        ("queue", "none"),
        ("notification", "create"),
    ]
    assert "yours" in found.actions[0].note
    assert MINE in found.actions[1].attributes[0].after
    assert found.problems == ()


def test_user_queue_without_send_permission_is_reported_with_the_statement() -> None:
    [problem] = plan(configure(queue={"url": URL}), my_queue()).problems
    assert problem.name == "source.queue.policy"
    assert "sqs:SendMessage" in problem.fix


def test_adopted_queue_is_corrected() -> None:
    found = plan(configure(queue={"url": URL}), my_queue(), adopt=True)
    assert found.problems == ()
    assert [(item.kind, item.change) for item in found.actions][:2] == [
        ("dead_letter_queue", "create"),
        ("queue", "update"),
    ]


def test_a_url_that_leads_nowhere_is_a_problem() -> None:
    names = [problem.name for problem in plan(configure(queue={"url": URL})).problems]
    assert names == ["source.queue.url"]


def test_a_queue_in_another_region_than_the_bucket_is_a_problem() -> None:
    [problem] = plan(configure(), region="us-east-2").problems
    assert problem.fix == "set source.region to us-east-2"
    placed = configure(queue={"region": "eu-west-1"})
    [problem] = plan(placed, region="us-east-2").problems
    assert problem.fix == "set source.queue.region to us-east-2"


def test_orphans_are_reported_and_change_nothing() -> None:
    topic = "arn:aws:sns:eu-west-1:123456789012:headwater-acme"
    found = plan(
        configure(),
        tagged=(("topic", "headwater-acme", topic), ("queue", "q", Addresses.of(configure(), SITE).queue)),
    )
    assert [(item.kind, item.address) for item in found.orphans] == [("topic", topic)]


def test_removal_goes_from_the_sender_to_the_receiver() -> None:
    source = configure(notifications="eventbridge")
    addresses = Addresses.of(source, SITE)
    tags = OWNER.build_tags({})
    state = SourceState(
        SITE,
        addresses,
        None,
        {"EventBridgeConfiguration": {}},
        (
            Observed("queue", "q", addresses.queue, {}, tags),
            Observed("dead_letter_queue", "d", addresses.dead_letter_queue, {}, {}),
            Observed("rule", "r", addresses.rule, {}, tags),
        ),
    )
    found = plan_source_removal(source, OWNER, state, False)
    assert [(item.kind, item.change) for item in found.actions] == [
        ("notification", "none"),
        ("rule", "delete"),
        ("queue", "delete"),
        ("dead_letter_queue", "none"),
    ]
    assert "EventBridge stays on" in found.actions[0].note
    assert "without headwater's tag" in found.actions[-1].note
