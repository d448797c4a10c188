"""Judges by a key policy whether the services that fill the queue may use its KMS key; no requests."""

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from headwater.config.source import S3SourceConfig
from headwater.sources.finding import SetupFinding
from headwater.sources.s3.planning.desired_values import Statement, list_statements

NAME = "source.resources.kms_key"
# To encrypt messages, and to decrypt the cached data key.
ACTIONS = ("kms:GenerateDataKey", "kms:Decrypt")
_SENDERS: Mapping[str, tuple[str, ...]] = {
    "sqs": ("s3.amazonaws.com",),
    "sns": ("s3.amazonaws.com", "sns.amazonaws.com"),
    "eventbridge": ("events.amazonaws.com",),
}


def list_services(source: S3SourceConfig) -> tuple[str, ...]:
    """Return the services that must use the key."""
    return _SENDERS[source.notifications]


def is_managed_by_aws(key: str) -> bool:
    """True if the key's policy cannot be changed."""
    return key.startswith("alias/aws/") or ":alias/aws/" in key


def judge_key_policy(text: str, key: str, services: Sequence[str], account: str) -> Iterator[SetupFinding]:
    """Return a finding for each service that the key policy (JSON text) denies, or one that is ok."""
    statements = list_statements(_parse(text))
    missing = [service for service in services if not _allows(statements, service)]
    for service in missing:
        yield SetupFinding(
            NAME,
            "problem",
            f"the policy of KMS key {key} does not let {service} use it: notifications are lost",
            describe_fix([service], account),
        )
    if not missing:
        yield SetupFinding(NAME, "ok", f"{', '.join(services)} may use KMS key {key}")


def describe_fix(services: Sequence[str], account: str) -> str:
    """Describe what to add to the key's policy."""
    return f"add to the key's policy: {json.dumps(build_key_statement(services, account))}"


def build_key_statement(services: Sequence[str], account: str) -> Statement:
    """Build the statement that allows services to use a key on behalf of one account."""
    return {
        "Sid": "HeadwaterNotifications",
        "Effect": "Allow",
        "Principal": {"Service": list(services)},
        "Action": list(ACTIONS),
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:SourceAccount": account}},
    }


def judge_managed_key(key: str) -> SetupFinding:
    """Judge a key that cannot be opened to AWS services."""
    return SetupFinding(
        NAME,
        "problem",
        f"{key} is an AWS managed key, which other services cannot use: no notification can be sent",
        "use a customer managed key, or omit source.resources.kms_key: SQS then encrypts with its own key",
    )


def _allows(statements: Sequence[Statement], service: str) -> bool:
    return all(any(_grants(statement, service, action) for statement in statements) for action in ACTIONS)


def _grants(statement: Statement, service: str, action: str) -> bool:
    principal = statement.get("Principal")
    named = principal.get("Service") if isinstance(principal, Mapping) else None
    is_named = principal == "*" or service in _texts(named)
    actions = [text.lower() for text in _texts(statement.get("Action"))]
    # The AWS documentation writes GenerateDataKey*.
    return (
        statement.get("Effect") == "Allow"
        and is_named
        and any(fnmatchcase(action.lower(), pattern) for pattern in actions)
    )


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [] if value is None else [str(value)]


def _parse(text: str) -> dict[str, object]:
    try:
        policy = json.loads(text)
    except ValueError:
        return {}
    return policy if isinstance(policy, dict) else {}
