"""Checks the queue's KMS key: it must exist, be enabled and allow the sending services."""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from headwater.config.source import S3SourceConfig
from headwater.sources.finding import SetupFinding
from headwater.sources.s3.aws import error_code, is_denied
from headwater.sources.s3.planning.key_policy import (
    NAME,
    describe_fix,
    is_managed_by_aws,
    judge_key_policy,
    judge_managed_key,
    list_services,
)


def check_key(client: Any, source: S3SourceConfig, account: str) -> list[SetupFinding]:
    """Check the configured key. A property that may not be read becomes a warning with the requirement."""
    key = source.resources.kms_key or ""
    services = list_services(source)
    if is_managed_by_aws(key):
        return [judge_managed_key(key)]
    try:
        metadata = client.describe_key(KeyId=key)["KeyMetadata"]
        if metadata.get("KeyState", "Enabled") != "Enabled":
            detail = f"KMS key {key} is {metadata['KeyState']}"
            return [SetupFinding(NAME, "problem", detail, "enable it, or use another key")]
        policy = client.get_key_policy(KeyId=metadata["Arn"], PolicyName="default")["Policy"]
    except ClientError as error:
        if error_code(error) == "NotFoundException":
            return [
                SetupFinding(NAME, "problem", f"there is no KMS key {key}", "correct its name or its region")
            ]
        return [_build_unconfirmed(key, error, services, account)]
    except BotoCoreError as error:
        return [_build_unconfirmed(key, error, services, account)]
    return list(judge_key_policy(policy, key, services, account))


def _build_unconfirmed(
    key: str, error: BotoCoreError | ClientError, services: tuple[str, ...], account: str
) -> SetupFinding:
    reason = "access denied" if is_denied(error) else str(error)
    detail = f"cannot check whether {', '.join(services)} may use KMS key {key}: {reason}"
    fix = f"allow kms:DescribeKey and kms:GetKeyPolicy for this check; {describe_fix(services, account)}"
    return SetupFinding(NAME, "warning", detail, fix)
