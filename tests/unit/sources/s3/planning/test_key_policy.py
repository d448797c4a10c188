"""May the senders use the customer's key?"""

import json

import pytest

from headwater.config.source import S3SourceConfig
from headwater.sources.s3.planning.key_policy import (
    build_key_statement,
    is_managed_by_aws,
    judge_key_policy,
    judge_managed_key,
    list_services,
)

S3 = "s3.amazonaws.com"
SNS = "sns.amazonaws.com"
ACCOUNT = "123456789012"


def judge(*statements: object, services: tuple[str, ...] = (S3,)) -> list[str]:
    text = json.dumps({"Statement": list(statements)})
    found = list(judge_key_policy(text, "alias/landing", services, ACCOUNT))
    assert all(finding.status == "ok" or "kms:GenerateDataKey" in finding.fix for finding in found)
    return [finding.status for finding in found]


def test_the_statement_that_is_proposed_is_enough() -> None:
    assert judge(build_key_statement([S3, SNS], ACCOUNT), services=(S3, SNS)) == ["ok"]


def test_each_service_that_is_not_let_in_is_a_problem() -> None:
    assert judge(services=(S3, SNS)) == ["problem", "problem"]
    assert judge(build_key_statement([S3], ACCOUNT), services=(S3, SNS)) == ["problem"]


@pytest.mark.parametrize(
    ("actions", "status"),
    [
        (["kms:GenerateDataKey*", "kms:Decrypt"], "ok"),
        ("kms:*", "ok"),
        (["kms:Decrypt"], "problem"),
        (["kms:GenerateDataKey"], "problem"),
    ],
)
def test_both_actions_are_needed(actions: object, status: str) -> None:
    statement = {"Effect": "Allow", "Principal": {"Service": S3}, "Action": actions, "Resource": "*"}
    assert judge(statement) == [status]


def test_rights_of_people_are_none_of_services() -> None:
    root = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "kms:*"}
    assert judge(root) == ["problem"]


def test_invalid_policy_text_grants_nothing() -> None:
    assert [item.status for item in judge_key_policy("no", "k", [S3], ACCOUNT)] == ["problem"]


def test_a_key_of_aws_can_never_be_used() -> None:
    assert is_managed_by_aws("alias/aws/sqs")
    assert is_managed_by_aws("arn:aws:kms:eu-west-1:1:alias/aws/sqs")
    assert not is_managed_by_aws("alias/landing")
    assert judge_managed_key("alias/aws/sqs").status == "problem"


@pytest.mark.parametrize(
    ("way", "services"), [("sqs", (S3,)), ("sns", (S3, SNS)), ("eventbridge", ("events.amazonaws.com",))]
)
def test_each_way_has_its_senders(way: str, services: tuple[str, ...]) -> None:
    source = S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", "notifications": way})
    assert list_services(source) == services
