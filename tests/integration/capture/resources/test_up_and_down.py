"""`plan`, `up` and `down` on a real S3, SQS, SNS and EventBridge: what is there then, and what is not."""

import json
from contextlib import closing

import pytest

from headwater.app.preflight import check_before_run
from headwater.app.provisioning import plan_removal, plan_resources, set_up, take_down
from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.errors import BucketNotFoundError, QueueNotFoundError, ResourceConflictError
from headwater.sources.provisioner import Plan, ProvisioningScope, ResourceAction
from headwater.sources.queue import QueueDepth
from headwater.sources.registry import build_queue
from headwater.sources.s3.resource_names import name_resources
from tests.fixtures.provisioning.cloud import Cloud

pytestmark = pytest.mark.slow

WAYS = ("sqs", "sns", "eventbridge")
LAMBDA = "arn:aws:lambda:us-east-1:000000000000:function:thumbnails"


def up(settings: Settings, *, adopt: bool = False, prune: bool = False) -> list[tuple[str, str]]:
    report = set_up(settings, ProvisioningScope(adopt, prune), probe_seconds=None)
    return [(action.kind, action.change) for action in report.applied]


def name_of(settings: Settings) -> str:
    assert settings.sources[0].type == "s3"
    return name_resources(settings.sources[0])


def list_changes(plan: Plan) -> list[tuple[str, str]]:
    return [(action.kind, action.change) for action in plan.actions if action.change != "none"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("prefix", ["", "in/"])
def test_up_makes_everything_proves_it_and_a_second_time_does_nothing(
    cloud: Cloud, way: str, prefix: str
) -> None:
    settings = cloud.settings(notifications=way, prefix=prefix)
    report = set_up(settings, probe_seconds=20)
    assert [(finding.name, finding.status) for finding in report.probe] == [
        ("probe.created", "ok"),
        ("probe.removed", "ok"),
    ]
    assert cloud.list_keys() == []

    again = set_up(settings, probe_seconds=None)
    assert again.applied == ()
    assert again.plan.orphans == ()


def test_the_test_event_is_seen_and_the_queue_is_left_empty(cloud: Cloud) -> None:
    settings = cloud.settings()
    [created, _] = set_up(settings, probe_seconds=20).probe
    assert "TestEvent" in created.detail
    with closing(build_queue(settings.sources[0])) as queue:
        assert queue.depth() == QueueDepth(0, 0)


def test_nothing_of_the_probe_stays_in_a_versioned_bucket(cloud: Cloud) -> None:
    cloud.emulator.clients.s3.put_bucket_versioning(
        Bucket=cloud.bucket, VersioningConfiguration={"Status": "Enabled"}
    )
    report = set_up(cloud.settings(), probe_seconds=20)
    assert {finding.status for finding in report.probe} == {"ok"}
    assert cloud.list_keys() == []


def test_messages_of_others_survive_the_probe(cloud: Cloud) -> None:
    settings = cloud.settings()
    up(settings)
    cloud.emulator.clients.s3.put_object(Bucket=cloud.bucket, Key="mine.json", Body=b"{}")
    assert set_up(settings, probe_seconds=20).is_good
    with closing(build_queue(settings.sources[0])) as queue:
        bodies = [message.body for message in queue.receive(10, 5)]
    assert ["mine.json" in body for body in bodies] == [True]


def test_the_queue_has_a_dead_letter_queue_tags_and_a_policy_for_this_bucket_alone(cloud: Cloud) -> None:
    settings = cloud.settings(resources={"tags": {"team": "data"}, "max_receive_count": 7})
    up(settings)
    queue = cloud.read_queue(name_of(settings))
    dead = cloud.read_queue(f"{name_of(settings)}-dead")
    redrive = json.loads(queue["RedrivePolicy"])
    assert redrive == {"deadLetterTargetArn": dead["QueueArn"], "maxReceiveCount": "7"}
    for found in (queue, dead):
        assert found["MessageRetentionPeriod"] == "1209600"
        assert int(found["MaximumMessageSize"]) >= 65_536
        assert found["tags"]["team"] == "data"
        assert found["tags"]["headwater:lake"] == cloud.lake
    send = cloud.read_policy(name_of(settings))["HeadwaterSend"]
    assert send["Condition"]["ArnEquals"] == {"aws:SourceArn": f"arn:aws:s3:::{cloud.bucket}"}
    assert send["Condition"]["StringEquals"] == {"aws:SourceAccount": "000000000000"}


def test_run_finds_the_queue_without_configuration(cloud: Cloud) -> None:
    settings = cloud.settings()
    with pytest.raises(QueueNotFoundError) as caught:
        check_before_run(settings, read_environment())
    assert "headwater up" in caught.value.hint
    up(settings)
    check_before_run(settings, read_environment())
    cloud.emulator.clients.s3.put_object(Bucket=cloud.bucket, Key="a.json", Body=b"{}")
    with closing(build_queue(settings.sources[0])) as queue:
        assert any("a.json" in message.body for message in queue.receive(10, 5))


def test_drift_is_reported_by_attribute_and_corrected(cloud: Cloud) -> None:
    settings = cloud.settings()
    up(settings)
    queue = cloud.read_queue(name_of(settings))
    foreign = {
        "Sid": "Theirs",
        "Effect": "Allow",
        "Principal": "*",
        "Action": "sqs:GetQueueUrl",
        "Resource": "*",
    }
    cloud.emulator.clients.sqs.set_queue_attributes(
        QueueUrl=queue["url"],
        Attributes={
            "MessageRetentionPeriod": "3600",
            "Policy": json.dumps({"Version": "2012-10-17", "Statement": [foreign]}),
        },
    )
    [action] = [item for item in plan_resources(settings).actions if item.change != "none"]
    assert (action.kind, action.change) == ("queue", "update")
    assert [change.name for change in action.attributes] == ["MessageRetentionPeriod", "Policy"]
    assert action.attributes[0].before == "3600"
    up(settings)
    assert set(cloud.read_policy(name_of(settings))) == {"Theirs", "HeadwaterSend"}
    assert not plan_resources(settings).has_changes


@pytest.mark.parametrize("way", WAYS)
def test_drift_outside_the_queue_is_corrected(cloud: Cloud, way: str) -> None:
    settings = cloud.settings(notifications=way)
    up(settings)
    name = name_of(settings)
    if way == "sqs":
        cloud.write_notification({})
    elif way == "sns":
        sns = cloud.client("sns")
        [found] = sns.list_subscriptions_by_topic(TopicArn=f"arn:aws:sns:us-east-1:000000000000:{name}")[
            "Subscriptions"
        ]
        sns.set_subscription_attributes(
            SubscriptionArn=found["SubscriptionArn"],
            AttributeName="RawMessageDelivery",
            AttributeValue="false",
        )
    else:
        cloud.client("events").disable_rule(Name=name)
    expected = {"sqs": ("notification", "create"), "sns": ("subscription", "update")}
    assert up(settings) == [expected.get(way, ("rule", "update"))]
    assert set_up(settings, probe_seconds=20).is_good


def test_a_notification_of_others_stays_through_up_and_down(cloud: Cloud) -> None:
    _, other = cloud.create_queue()
    theirs = {"Id": "theirs", "QueueArn": other, "Events": ["s3:ObjectCreated:*"]}
    filters = {"Key": {"FilterRules": [{"Name": "prefix", "Value": "out/"}]}}
    cloud.write_notification({"QueueConfigurations": [{**theirs, "Filter": filters}]})
    before = cloud.read_notification()
    settings = cloud.settings(prefix="in/")
    up(settings)
    rules = cloud.read_notification()["QueueConfigurations"]
    assert len(rules) == 2
    assert before["QueueConfigurations"][0] in rules
    take_down(settings)
    assert cloud.read_notification() == before


def test_a_rule_that_overlaps_stops_up_before_anything_is_made(cloud: Cloud) -> None:
    _, other = cloud.create_queue()
    cloud.write_notification(
        {"QueueConfigurations": [{"Id": "theirs", "QueueArn": other, "Events": ["s3:ObjectCreated:*"]}]}
    )
    settings = cloud.settings()
    with pytest.raises(ResourceConflictError, match="'theirs'") as caught:
        up(settings)
    assert "eventbridge" in caught.value.hint
    assert cloud.list_queues() == set()
    # The way out that the hint names.
    assert set_up(cloud.settings(notifications="eventbridge"), probe_seconds=20).is_good


def test_a_hundred_rules_stop_up(cloud: Cloud) -> None:
    _, other = cloud.create_queue()
    rules = [
        {
            "Id": f"theirs-{at}",
            "QueueArn": other,
            "Events": ["s3:ObjectCreated:*"],
            "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": f"out/{at:03}/"}]}},
        }
        for at in range(100)
    ]
    cloud.write_notification({"QueueConfigurations": rules})
    with pytest.raises(ResourceConflictError, match="S3 allows 100"):
        up(cloud.settings(prefix="in/"))


def test_a_queue_by_our_name_without_our_tag_is_never_taken_over_silently(cloud: Cloud) -> None:
    settings = cloud.settings()
    cloud.create_queue(name_of(settings))
    with pytest.raises(ResourceConflictError, match="not headwater's") as caught:
        up(settings)
    assert "--adopt" in caught.value.hint
    assert take_down(settings) == ()
    assert cloud.list_queues() == {name_of(settings)}

    assert ("queue", "update") in up(settings, adopt=True)
    assert set_up(settings, probe_seconds=20).is_good


def test_a_queue_of_another_lake_is_refused_and_the_lake_named(cloud: Cloud) -> None:
    up(cloud.settings())
    with pytest.raises(ResourceConflictError, match=cloud.lake):
        up(cloud.settings(lake="s3a://another/lake"))


def test_a_queue_of_the_users_gets_the_notification_only(cloud: Cloud) -> None:
    url, arn = cloud.create_queue()
    settings = cloud.settings(queue={"url": url})
    assert [problem.name for problem in plan_resources(settings).problems] == ["source.queue.policy"]
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": f"arn:aws:s3:::{cloud.bucket}"}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    cloud.emulator.clients.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    report = set_up(settings, probe_seconds=20)
    assert [action.kind for action in report.applied] == ["notification"]
    assert report.is_good
    assert [action.kind for action in take_down(settings)] == ["notification"]
    assert cloud.read_queue(url.rsplit("/", 1)[-1])["Policy"] == policy


def test_another_way_leaves_orphans_that_prune_removes(cloud: Cloud) -> None:
    up(cloud.settings(notifications="sns"))
    settings = cloud.settings()
    assert up(settings) == [("queue", "update"), ("notification", "update")]
    assert [action.kind for action in plan_resources(settings).orphans] == ["topic"]
    assert set_up(settings, probe_seconds=20).is_good
    assert up(settings, prune=True) == [("topic", "delete")]
    assert plan_resources(settings).orphans == ()


def test_another_prefix_leaves_queue_and_rule_as_orphans(cloud: Cloud) -> None:
    up(cloud.settings(prefix="in/"))
    settings = cloud.settings(prefix="in/orders/")
    with pytest.raises(ResourceConflictError) as caught:
        up(settings)
    assert "--prune" in caught.value.hint
    assert ("queue", "delete") in up(settings, prune=True)
    found = cloud.read_notification()["QueueConfigurations"]
    assert [rule["QueueArn"].rsplit(":", 1)[-1] for rule in found] == [name_of(settings)]
    assert cloud.list_queues() == {name_of(settings), f"{name_of(settings)}-dead"}


@pytest.mark.parametrize("way", WAYS)
def test_down_removes_own_resources_and_is_idempotent(cloud: Cloud, way: str) -> None:
    settings = cloud.settings(notifications=way)
    made = set_up(settings, probe_seconds=None).applied
    removed = take_down(settings)
    # EventBridge stays on: others may listen. A topic takes its subscriptions along.
    stays = {"subscription"} | ({"notification"} if way == "eventbridge" else set())
    assert {action.kind for action in removed} == {action.kind for action in made} - stays
    assert cloud.list_queues() == set()
    assert not plan_removal(settings).has_changes
    assert take_down(settings) == ()
    assert set_up(settings, probe_seconds=20).is_good


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("way", WAYS)
def test_interrupted_up_and_down_are_completed_by_the_next(cloud: Cloud, way: str) -> None:
    settings = cloud.settings(notifications=way)

    def kill(_: ResourceAction) -> None:
        raise Killed

    steps = len(plan_resources(settings).actions)
    for _ in range(steps):
        with pytest.raises(Killed):
            set_up(settings, probe_seconds=None, on_action=kill)
    assert not plan_resources(settings).has_changes
    assert set_up(settings, probe_seconds=20).is_good
    while plan_removal(settings).has_changes:
        with pytest.raises(Killed):
            take_down(settings, on_action=kill)
    assert cloud.list_queues() == set()


def test_missing_bucket_is_reported_and_nothing_is_created(cloud: Cloud) -> None:
    settings = cloud.settings(bucket=f"{cloud.bucket}-not-there")
    for act in (plan_resources, up):
        with pytest.raises(BucketNotFoundError, match="does not exist"):
            act(settings)
    assert cloud.list_queues() == set()
    assert take_down(settings) == ()


def test_resources_of_a_deleted_bucket_can_be_removed(cloud: Cloud) -> None:
    settings = cloud.settings()
    up(settings)
    cloud.emulator.clients.s3.delete_bucket(Bucket=cloud.bucket)
    assert [action.kind for action in take_down(settings)] == ["queue", "dead_letter_queue"]
    assert cloud.list_queues() == set()


def test_a_customer_key_has_to_let_the_sender_in(cloud: Cloud) -> None:
    kms = cloud.client("kms")
    key = kms.create_key()["KeyMetadata"]
    settings = cloud.settings(resources={"kms_key": key["KeyId"]})
    [problem] = plan_resources(settings).problems
    assert (problem.name, "s3.amazonaws.com" in problem.detail) == ("source.resources.kms_key", True)
    statement = json.loads(problem.fix.partition(": ")[2])
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    kms.put_key_policy(KeyId=key["KeyId"], PolicyName="default", Policy=policy)
    up(settings)
    assert cloud.read_queue(name_of(settings))["KmsMasterKeyId"] == key["KeyId"]


def test_a_key_that_is_not_there_is_a_problem(cloud: Cloud) -> None:
    [problem] = plan_resources(cloud.settings(resources={"kms_key": "alias/no-such-key"})).problems
    assert "there is no KMS key" in problem.detail
