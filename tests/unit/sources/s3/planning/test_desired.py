"""The resources of each way from bucket to queue, and what their policies hold."""

import json
from collections.abc import Mapping

import pytest

from headwater.config.source import S3SourceConfig
from headwater.sources.planning.actions import Desired
from headwater.sources.s3.judging.queue_policy import Sender, judge_policy
from headwater.sources.s3.planning.desired import Addresses, Site, build_desired, build_event_pattern
from headwater.sources.s3.planning.ownership import build_owner

SITE = Site("123456789012", "eu-west-1")
NAME = "headwater-acme"
QUEUE = f"arn:aws:sqs:eu-west-1:123456789012:{NAME}"
SENDERS = {
    "sqs": Sender("s3.amazonaws.com", "arn:aws:s3:::acme"),
    "sns": Sender("sns.amazonaws.com", f"arn:aws:sns:eu-west-1:123456789012:{NAME}"),
    "eventbridge": Sender("events.amazonaws.com", f"arn:aws:events:eu-west-1:123456789012:rule/{NAME}"),
}


def configure(**fields: object) -> S3SourceConfig:
    return S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", **fields})


def build(source: S3SourceConfig, site: Site = SITE) -> dict[str, Desired]:
    owner = build_owner("s3a://lake", source.bucket, source.prefix)
    return {item.kind: item for item in build_desired(source, owner, site, Addresses.of(source, site))}


def settle(desired: Desired) -> dict[str, str]:
    return {name: desired_value.settle("") for name, desired_value in desired.attributes.items()}


def read_statements(desired: Desired) -> Mapping[str, Mapping[str, object]]:
    policy = json.loads(settle(desired)["Policy"])
    return {statement["Sid"]: statement for statement in policy["Statement"]}


@pytest.mark.parametrize(
    ("way", "kinds"),
    [
        ("sqs", ["dead_letter_queue", "queue"]),
        ("sns", ["dead_letter_queue", "queue", "topic", "subscription"]),
        ("eventbridge", ["dead_letter_queue", "queue", "rule"]),
    ],
)
def test_each_way_has_its_resources_in_the_order_of_their_making(way: str, kinds: list[str]) -> None:
    assert list(build(configure(notifications=way))) == kinds


def test_a_queue_keeps_messages_for_two_weeks_and_gives_them_ten_tries() -> None:
    found = settle(build(configure(queue={"visibility_timeout": 45}))["queue"])
    assert found["MessageRetentionPeriod"] == "1209600"
    assert int(found["MaximumMessageSize"]) >= 65_536
    assert found["VisibilityTimeout"] == "45"
    assert json.loads(found["RedrivePolicy"]) == {
        "deadLetterTargetArn": f"{QUEUE}-dead",
        "maxReceiveCount": "10",
    }
    assert found["SqsManagedSseEnabled"] == "true"


@pytest.mark.parametrize("way", list(SENDERS))
def test_only_the_one_sender_may_send_and_only_by_tls(way: str) -> None:
    queue = build(configure(notifications=way))["queue"]
    text = settle(queue)["Policy"]
    assert judge_policy(text, QUEUE, SENDERS[way]).status == "ok"
    stranger = Sender(SENDERS[way].service, f"{SENDERS[way].arn}-other")
    assert judge_policy(text, QUEUE, stranger).status == "problem"
    tls = read_statements(queue)["HeadwaterTls"]
    assert (tls["Effect"], tls["Principal"]) == ("Deny", "*")
    assert tls["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_bucket_is_named_with_its_account() -> None:
    for source in (configure(), configure(resources={"bucket_owner": "999999999999"})):
        condition = read_statements(build(source)["queue"])["HeadwaterSend"]["Condition"]
        account = source.resources.bucket_owner or SITE.account
        assert condition == {
            "ArnEquals": {"aws:SourceArn": "arn:aws:s3:::acme"},
            "StringEquals": {"aws:SourceAccount": account},
        }


def test_the_topic_takes_from_the_bucket_and_delivers_raw() -> None:
    found = build(configure(notifications="sns"))
    publish = read_statements(found["topic"])["HeadwaterSend"]
    assert (publish["Principal"], publish["Action"]) == ({"Service": "s3.amazonaws.com"}, "sns:Publish")
    assert settle(found["subscription"]) == {
        "Protocol": "sqs",
        "Endpoint": QUEUE,
        "RawMessageDelivery": "true",
    }


def test_the_rule_matches_the_bucket_and_the_prefix() -> None:
    pattern = json.loads(build_event_pattern(configure(prefix="in/")))
    assert pattern["detail"] == {"bucket": {"name": ["acme"]}, "object": {"key": [{"prefix": "in/"}]}}
    assert "object" not in json.loads(build_event_pattern(configure()))["detail"]


def test_a_customer_key_encrypts_queues_and_topic() -> None:
    found = build(configure(notifications="sns", resources={"kms_key": "alias/landing"}))
    for kind in ("queue", "dead_letter_queue", "topic"):
        assert settle(found[kind])["KmsMasterKeyId"] == "alias/landing"
    assert "SqsManagedSseEnabled" not in found["queue"].attributes


def test_compatible_services_get_fewer_requests() -> None:
    queue = build(configure(), Site("0", "us-east-1", is_aws=False, has_tls=False))["queue"]
    assert "SqsManagedSseEnabled" not in queue.attributes
    # Who reaches the queue by plain HTTP must not lock himself out.
    assert set(read_statements(queue)) == {"HeadwaterSend"}


def test_other_partitions_have_their_arns() -> None:
    site = Site("1", "cn-north-1", partition="aws-cn")
    addresses = Addresses.of(configure(), site)
    assert addresses.bucket == "arn:aws-cn:s3:::acme"
    assert addresses.queue.startswith("arn:aws-cn:sqs:cn-north-1:1:")


def test_a_queue_of_another_account_keeps_its_arn() -> None:
    given = "arn:aws:sqs:eu-west-1:999999999999:theirs"
    source = configure(queue={"url": "https://sqs.eu-west-1.amazonaws.com/999999999999/theirs"})
    assert Addresses.of(source, SITE, given).queue == given
