"""Judges by a queue policy whether one sender may send to the queue; makes no requests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from headwater.sources.finding import SetupFinding

NAME = "source.queue.policy"

_Verdict = Literal["allows", "allows anyone", "unclear", "no"]
_SEND = "sqs:sendmessage"
_ARN_TESTS = frozenset({"arnequals", "arnlike", "stringequals", "stringlike"})


@dataclass(frozen=True, slots=True)
class Sender:
    """A service that sends on behalf of a resource; without `arn`, of any resource."""

    service: str
    arn: str = ""

    @property
    def name(self) -> str:
        """Return the name for messages."""
        return f"{self.service} for {self.arn}" if self.arn else self.service


def judge_policy(text: str | None, queue_arn: str, sender: Sender) -> SetupFinding:
    """Judge whether `sender` may send to the queue by its policy (JSON text; None: it has none)."""
    fix = f"set this queue policy statement: {_write_statement(queue_arn, sender)}"
    statements = _parse_statements(text)
    if statements is None:
        return SetupFinding(NAME, "problem", "the queue policy is not JSON", fix)
    if any(_denies(statement, queue_arn) for statement in statements):
        return SetupFinding(NAME, "problem", "the queue policy denies everyone sqs:SendMessage", fix)
    verdicts = {_judge_statement(statement, queue_arn, sender) for statement in statements}
    if "allows" in verdicts:
        return SetupFinding(NAME, "ok", f"{sender.name} may send")
    if "allows anyone" in verdicts:
        return SetupFinding(
            NAME,
            "warning",
            "the queue policy lets any bucket of any account send; name the bucket in it",
            fix,
        )
    if "unclear" in verdicts:
        return SetupFinding(
            NAME,
            "warning",
            f"whether {sender.name} may send depends on conditions that this check cannot evaluate",
            "put an object and check that `headwater run` ingests it",
        )
    detail = f"the queue policy does not let {sender.name} send" if text else "the queue has no policy"
    return SetupFinding(NAME, "problem", f"{detail}: notifications are lost", fix)


def _parse_statements(text: str | None) -> list[Mapping[str, object]] | None:
    if not text:
        return []
    try:
        policy = json.loads(text)
    except ValueError:
        return None
    found = policy.get("Statement", []) if isinstance(policy, dict) else []
    return [item for item in (found if isinstance(found, list) else [found]) if isinstance(item, dict)]


def _judge_statement(statement: Mapping[str, object], queue_arn: str, sender: Sender) -> _Verdict:
    if statement.get("Effect") != "Allow" or not _is_about(statement, queue_arn):
        return "no"
    principal = statement.get("Principal")
    services = _texts(principal.get("Service")) if isinstance(principal, dict) else []
    if sender.service not in services and not _is_everyone(principal):
        return "no"
    return _judge_conditions(statement.get("Condition"), sender)


def _judge_conditions(condition: object, sender: Sender) -> _Verdict:
    tests = [
        (operator.lower(), key.lower(), _texts(values))
        for operator, keys in (condition.items() if isinstance(condition, dict) else ())
        for key, values in (keys.items() if isinstance(keys, dict) else ())
    ]
    verdict: _Verdict = "allows anyone"
    for operator, key, values in tests:
        if key == "aws:sourcearn" and operator in _ARN_TESTS:
            if sender.arn and not any(fnmatchcase(sender.arn, value) for value in values):
                return "no"
            verdict = "allows" if verdict == "allows anyone" else verdict
        elif key == "aws:sourceaccount":
            # The bucket's owner is unknown; a condition on the account alone excludes other accounts.
            verdict = "allows" if verdict == "allows anyone" else verdict
        else:
            verdict = "unclear"
    return verdict


def _denies(statement: Mapping[str, object], queue_arn: str) -> bool:
    return (
        statement.get("Effect") == "Deny"
        and _is_everyone(statement.get("Principal"))
        and not statement.get("Condition")
        and _is_about(statement, queue_arn)
    )


def _is_about(statement: Mapping[str, object], queue_arn: str) -> bool:
    actions = [action.lower() for action in _texts(statement.get("Action"))]
    resources = _texts(statement.get("Resource"))
    return any(fnmatchcase(_SEND, action) for action in actions) and any(
        fnmatchcase(queue_arn, resource) for resource in resources
    )


def _is_everyone(principal: object) -> bool:
    return principal == "*" or (isinstance(principal, dict) and "*" in _texts(principal.get("AWS")))


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [] if value is None else [str(value)]


def _write_statement(queue_arn: str, sender: Sender) -> str:
    statement: dict[str, object] = {
        "Effect": "Allow",
        "Principal": {"Service": sender.service},
        "Action": "sqs:SendMessage",
        "Resource": queue_arn,
    }
    if sender.arn:
        statement["Condition"] = {"ArnEquals": {"aws:SourceArn": sender.arn}}
    return json.dumps(statement)
