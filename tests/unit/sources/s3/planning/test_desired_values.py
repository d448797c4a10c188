"""What is written to an attribute, given what is there."""

import json

import pytest

from headwater.sources.planning.desired_values import DesiredValue
from headwater.sources.s3.planning.desired_values import PolicyWith, SameJson

OURS = {"Sid": "Ours", "Effect": "Allow", "Resource": "q"}
EXTERNAL = {"Sid": "Theirs", "Effect": "Allow", "Resource": "q"}
NAMELESS = {"Effect": "Deny", "Resource": "q"}


@pytest.mark.parametrize(
    ("desired_value", "found", "written"),
    [
        (SameJson('{"a": "10", "b": [1]}'), '{"b":["1"],"a":10}', '{"b":["1"],"a":10}'),
        (SameJson('{"a": 1}'), '{"a": 2}', '{"a": 1}'),
        (SameJson('{"a": 1}'), "no JSON", '{"a": 1}'),
        (SameJson('{"a": 1}'), "", '{"a": 1}'),
    ],
)
def test_sufficient_attributes_are_kept(desired_value: DesiredValue, found: str, written: str) -> None:
    assert desired_value.settle(found) == written


def settle(found: object, *, retired: frozenset[str] = frozenset()) -> dict[str, object]:
    text = PolicyWith((OURS,), retired).settle(json.dumps(found) if found else "")
    policy = json.loads(text)
    assert isinstance(policy, dict)
    return policy


def test_statements_of_others_are_kept_and_ours_are_added() -> None:
    merged = settle({"Version": "2008-10-17", "Id": "x", "Statement": [EXTERNAL, NAMELESS]})
    assert merged == {"Version": "2008-10-17", "Id": "x", "Statement": [EXTERNAL, NAMELESS, OURS]}


def test_modified_own_statement_is_rewritten() -> None:
    changed = {**OURS, "Effect": "Deny"}
    assert settle({"Statement": [changed, EXTERNAL]})["Statement"] == [EXTERNAL, OURS]


def test_a_single_statement_may_stand_without_a_list() -> None:
    assert settle({"Statement": EXTERNAL})["Statement"] == [EXTERNAL, OURS]


def test_a_policy_that_holds_ours_is_kept_to_the_letter() -> None:
    text = json.dumps({"Statement": [OURS, EXTERNAL]}, indent=3)
    assert PolicyWith((OURS,)).settle(text) == text


def test_another_spelling_of_the_same_statement_is_kept() -> None:
    desired_value = PolicyWith(
        (
            {
                "Sid": "Ours",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sns:Publish",
                "Resource": "t",
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        )
    )
    spelled = {
        "Sid": "Ours",
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": ["SNS:Publish"],
        "Resource": ["t"],
        "Condition": {"Bool": {"aws:SecureTransport": ["false"]}},
    }
    text = json.dumps({"Statement": [spelled]})
    assert desired_value.settle(text) == text
    other = json.dumps({"Statement": [{**spelled, "Principal": {"AWS": "123456789012"}}]})
    assert desired_value.settle(other) != other


def test_retired_statements_go() -> None:
    policy = {"Statement": [OURS, {**EXTERNAL, "Sid": "Old"}]}
    assert settle(policy, retired=frozenset({"Old"}))["Statement"] == [OURS]


def test_a_policy_without_any_statement_is_no_policy() -> None:
    assert PolicyWith((), frozenset({"Ours"})).settle(json.dumps({"Statement": [OURS]})) == ""
