"""Which queue policies let a bucket send."""

import json

import pytest

from headwater.sources.s3.judging.queue_policy import Sender, judge_policy

QUEUE = "arn:aws:sqs:eu-west-1:1:landing"
BUCKET = "arn:aws:s3:::acme"
SENDER = Sender("s3.amazonaws.com", BUCKET)
FROM_BUCKET = {"ArnLike": {"aws:SourceArn": BUCKET}}


def policy(condition: object = None, **changes: object) -> str:
    statement: dict[str, object] = {
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "SQS:SendMessage",
        "Resource": QUEUE,
        **changes,
    }
    if condition:
        statement["Condition"] = condition
    return json.dumps({"Statement": [statement]})


@pytest.mark.parametrize(
    "text",
    [
        policy(FROM_BUCKET),
        policy({"StringEquals": {"AWS:SourceArn": [BUCKET, "arn:aws:s3:::other"]}}),
        policy({"ArnLike": {"aws:SourceArn": "arn:aws:s3:*:*:acme"}}),
        policy({**FROM_BUCKET, "StringEquals": {"aws:SourceAccount": "1"}}),
        policy(FROM_BUCKET, Principal={"AWS": "*"}, Action=["sqs:*"], Resource="*"),
        policy(FROM_BUCKET, Principal="*"),
        json.dumps({"Statement": json.loads(policy(FROM_BUCKET))["Statement"][0]}),
    ],
)
def test_a_policy_that_names_the_bucket_is_good(text: str) -> None:
    assert judge_policy(text, QUEUE, SENDER).status == "ok"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "not JSON",
        "[]",
        json.dumps({"Statement": []}),
        policy({"ArnLike": {"aws:SourceArn": "arn:aws:s3:::other"}}),
        policy(FROM_BUCKET, Principal={"Service": "sns.amazonaws.com"}),
        policy(FROM_BUCKET, Action="sqs:ReceiveMessage"),
        policy(FROM_BUCKET, Resource=f"{QUEUE}-other"),
        policy(FROM_BUCKET, Effect="Deny"),
        policy(Effect="Deny", Principal="*"),
    ],
)
def test_a_policy_that_does_not_let_the_bucket_send_is_a_problem_with_the_statement_to_add(
    text: str | None,
) -> None:
    finding = judge_policy(text, QUEUE, SENDER)
    assert finding.status == "problem"
    statement = json.loads(finding.fix.partition(": ")[2])
    assert judge_policy(json.dumps({"Statement": [statement]}), QUEUE, SENDER).status == "ok"


def test_a_policy_for_any_bucket_is_a_warning() -> None:
    finding = judge_policy(policy(), QUEUE, SENDER)
    assert finding.status == "warning"
    assert "any bucket" in finding.detail


def test_conditions_that_cannot_be_judged_are_a_warning() -> None:
    text = policy({**FROM_BUCKET, "IpAddress": {"aws:SourceIp": "10.0.0.0/8"}})
    assert judge_policy(text, QUEUE, SENDER).status == "warning"


def test_a_denial_under_a_condition_is_left_alone() -> None:
    denial = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": QUEUE,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    statements = [*json.loads(policy(FROM_BUCKET))["Statement"], denial]
    assert judge_policy(json.dumps({"Statement": statements}), QUEUE, SENDER).status == "ok"
