"""The three roles have what they need and nothing that belongs to another."""

from collections.abc import Mapping, Sequence
from typing import cast, get_args

import pytest

from headwater.config.source import S3SourceConfig
from headwater.sources.provisioner import Role
from headwater.sources.s3.planning.desired import Addresses, Site
from headwater.sources.s3.planning.roles import build_role_policies

SITE = Site("123456789012", "eu-west-1")


def build(lake: str = "s3a://lake/bronze", **fields: object) -> Mapping[Role, Sequence[Mapping[str, object]]]:
    source = S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", "prefix": "in/", **fields})
    policies = build_role_policies(source, lake, SITE, Addresses.of(source, SITE))
    return {
        role: cast("Sequence[Mapping[str, object]]", policy["Statement"]) for role, policy in policies.items()
    }


def list_actions(statements: Sequence[Mapping[str, object]]) -> set[str]:
    return {action for item in statements for action in cast("list[str]", item["Action"])}


def list_resources(statements: Sequence[Mapping[str, object]]) -> set[str]:
    return {resource for item in statements for resource in cast("list[str]", item["Resource"])}


# AWS knows no resource for these.
UNBOUND = {
    "tag:GetResources",
    "sns:GetSubscriptionAttributes",
    "sns:SetSubscriptionAttributes",
    "sns:Unsubscribe",
}


def test_no_right_is_a_pattern_and_each_is_bound_to_a_resource_where_that_can_be() -> None:
    for way in ("sqs", "sns", "eventbridge"):
        for role, statements in build(notifications=way).items():
            assert not any("*" in action for action in list_actions(statements))
            everywhere = {
                a for s in statements if "*" in cast("list[str]", s["Resource"]) for a in list_actions([s])
            }
            assert everywhere <= (UNBOUND if role == "set-up" else set())


def test_only_setting_up_may_change_resources() -> None:
    found = build()
    changing = {"sqs:CreateQueue", "sqs:DeleteQueue", "sqs:SetQueueAttributes", "s3:PutBucketNotification"}
    assert changing <= list_actions(found["set-up"])
    assert not changing & (list_actions(found["ingest"]) | list_actions(found["serve"]))


def test_only_ingesting_may_write_the_lake_and_read_objects() -> None:
    found = build()
    assert {"s3:PutObject", "sqs:DeleteMessage"} <= list_actions(found["ingest"])
    assert not {"s3:PutObject", "s3:DeleteObject", "sqs:ReceiveMessage"} & list_actions(found["serve"])
    assert "arn:aws:s3:::acme/in/*" in list_resources(found["ingest"])
    assert not any("acme" in item and "s3" in item for item in list_resources(found["serve"]))
    # Setting up writes objects of the probe only.
    assert "arn:aws:s3:::acme/in/_headwater/*" in list_resources(found["set-up"])
    assert not any(item.startswith("arn:aws:s3:::lake") for item in list_resources(found["set-up"]))


def test_a_lake_elsewhere_takes_no_rights_in_s3() -> None:
    found = build(lake="/data/lake")
    assert list_resources(found["serve"]) == {"arn:aws:sqs:eu-west-1:123456789012:" + queue_name()}


def queue_name() -> str:
    source = S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", "prefix": "in/"})
    return Addresses.of(source, SITE).queue.rsplit(":", 1)[-1]


@pytest.mark.parametrize(
    ("key", "resource"),
    [
        ("1234-abcd", "arn:aws:kms:eu-west-1:123456789012:key/1234-abcd"),
        ("arn:aws:kms:eu-west-1:9:key/x", "arn:aws:kms:eu-west-1:9:key/x"),
        ("alias/landing", "arn:aws:kms:eu-west-1:123456789012:key/*"),
    ],
)
def test_a_key_is_named_or_asked_for_by_its_alias(key: str, resource: str) -> None:
    for role in ("set-up", "ingest"):
        [statement] = [item for item in build(resources={"kms_key": key})[role] if item["Sid"] == "Key"]
        assert statement["Resource"] == [resource]
        assert ("Condition" in statement) == key.startswith("alias/")


def test_every_role_has_a_policy() -> None:
    assert tuple(build()) == get_args(Role)


def test_cleaning_the_source_takes_rights_only_where_it_is_configured() -> None:
    writing = {"s3:DeleteObject", "s3:PutObjectTagging", "s3:GetObjectTagging", "s3:PutObjectVersionTagging"}
    assert not writing & list_actions(build(lake="/data/lake")["ingest"])
    assert writing & list_actions(build(lake="/data/lake", clean_source="delete")["ingest"]) == {
        "s3:DeleteObject"
    }
    tagging = list_actions(build(lake="/data/lake", clean_source="tag")["ingest"])
    assert writing & tagging == writing - {"s3:DeleteObject"}
    moving = build(lake="/data/lake", clean_source="move", clean_source_move_to="s3://archive/old")
    assert {"s3:DeleteObject", "s3:GetObjectTagging", "s3:PutObject"} <= list_actions(moving["ingest"])
    assert "arn:aws:s3:::archive/old/*" in list_resources(moving["ingest"])
    assert "s3:DeleteObject" not in list_actions(moving["serve"])
