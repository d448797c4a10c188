"""What a real server cannot be asked for: names that are not free yet, keys that may not be looked at."""

from collections.abc import Sequence
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from headwater.config.source import S3SourceConfig
from headwater.errors import CredentialsError, SourceError
from headwater.sources.message_parser import parse_message
from headwater.sources.provisioner import AttributeChange, ProvisioningScope, ResourceAction
from headwater.sources.s3.planning.ownership import build_owner
from headwater.sources.s3.provisioning.eventbridge import RuleResources
from headwater.sources.s3.provisioning.kms import check_key
from headwater.sources.s3.provisioning.provisioner import AwsClients, AwsProvisioner, find_site
from headwater.sources.s3.provisioning.sqs import QueueResources

KEY = "alias/landing"
OWNER = build_owner("s3a://lake", "acme")
ARN = "arn:aws:kms:eu-west-1:123456789012:key/1"


def build_client(service: str) -> Any:
    build: Any = boto3.client
    return build(service, region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")


def configure(**fields: object) -> S3SourceConfig:
    return S3SourceConfig.model_validate({"type": "s3", "bucket": "acme", **fields})


def create(kind: Any, name: str, **attributes: str) -> ResourceAction:
    changes = tuple(AttributeChange(key, "", value) for key, value in attributes.items())
    return ResourceAction(kind, name, "create", changes, f"arn:aws:events:eu-west-1:1:rule/{name}")


def test_a_name_that_is_not_free_yet_is_waited_for() -> None:
    client = build_client("sqs")
    with Stubber(client) as stub:
        stub.add_client_error("create_queue", "AWS.SimpleQueueService.QueueDeletedRecently")
        stub.add_response(
            "create_queue",
            {"QueueUrl": "https://q"},
            {"QueueName": "q", "Attributes": {"DelaySeconds": "0"}, "tags": {"a": "b"}},
        )
        QueueResources(client, pause_seconds=0).create(
            create("queue", "q", **{"DelaySeconds": "0", "KmsMasterKeyId": "", "tag a": "b"})
        )
        stub.assert_no_pending_responses()


def test_queue_deleted_during_inspection_is_missing() -> None:
    client = build_client("sqs")
    with Stubber(client) as stub:
        stub.add_response("get_queue_url", {"QueueUrl": "https://q"})
        stub.add_client_error("get_queue_attributes", "QueueDoesNotExist")
        assert QueueResources(client).read("queue", "q") is None


def test_a_target_that_is_refused_is_an_error() -> None:
    client = build_client("events")
    with Stubber(client) as stub:
        stub.add_response("put_rule", {"RuleArn": "arn"})
        failed = [{"TargetId": "headwater", "ErrorCode": "X", "ErrorMessage": "not in this account"}]
        stub.add_response("put_targets", {"FailedEntryCount": 1, "FailedEntries": failed})
        action = create("rule", "r", EventPattern="{}", State="ENABLED", Target="arn:aws:sqs:eu-west-1:1:q")
        with pytest.raises(SourceError, match="not in this account"):
            RuleResources(client).create(action)


def check(client: Any, key: str = KEY) -> Sequence[tuple[str, str]]:
    found = check_key(client, configure(resources={"kms_key": key}), "123456789012")
    assert all(finding.status == "ok" or finding.fix for finding in found)
    return [(finding.status, finding.detail) for finding in found]


def test_key_without_read_permission_is_unconfirmed_with_requirement() -> None:
    client = build_client("kms")
    with Stubber(client) as stub:
        stub.add_client_error("describe_key", "AccessDeniedException")
        [finding] = check_key(client, configure(resources={"kms_key": KEY}), "123456789012")
    assert finding.status == "warning"
    assert "kms:GetKeyPolicy" in finding.fix
    assert "kms:GenerateDataKey" in finding.fix


def test_a_key_that_is_switched_off_is_a_problem() -> None:
    client = build_client("kms")
    with Stubber(client) as stub:
        metadata = {"KeyId": "1", "Arn": ARN, "KeyState": "Disabled"}
        stub.add_response("describe_key", {"KeyMetadata": metadata})
        assert check(client) == [("problem", f"KMS key {KEY} is Disabled")]


def test_a_key_of_aws_is_refused_without_asking() -> None:
    [(status, _)] = check(build_client("kms"), "alias/aws/sqs")
    assert status == "problem"


def test_missing_permission_to_list_orphans_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    source = configure(region="eu-west-1")
    clients = AwsClients(source)
    client = build_client("resourcegroupstaggingapi")
    monkeypatch.setattr(clients, "get", lambda _service: client)
    provisioner = AwsProvisioner(source, OWNER, ProvisioningScope(), clients, parse_message)
    with Stubber(client) as stub:
        stub.add_client_error("get_resources", "AccessDeniedException")
        found, warning = provisioner.find_tagged()
    assert found == []
    assert warning is not None
    assert (warning.status, "tag:GetResources" in warning.fix) == ("warning", True)


def test_unknown_account_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = AwsClients(configure(region="eu-west-1"))
    client = build_client("sts")
    monkeypatch.setattr(clients, "get", lambda _service: client)
    with Stubber(client) as stub:
        stub.add_client_error("get_caller_identity", "ExpiredToken")
        with pytest.raises(CredentialsError):
            find_site(clients, None, OWNER)


@pytest.mark.parametrize(
    ("fields", "is_aws", "has_tls"),
    [
        ({}, True, True),
        ({"endpoint": "http://localhost:9000"}, False, False),
        ({"endpoint": "https://minio.acme.example"}, False, True),
        ({"queue": {"endpoint": "https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com"}}, True, True),
        ({"queue": {"url": "https://sqs.eu-west-1.amazonaws.com/1/q"}}, True, True),
        ({"endpoint": "http://localhost:9000", "queue": {"url": "http://localhost:9324/1/q"}}, False, False),
    ],
)
def test_aws_is_distinguished_from_compatible_services(
    fields: dict[str, object], is_aws: bool, has_tls: bool
) -> None:
    clients = AwsClients(configure(**fields))
    assert (clients.is_aws, clients.has_tls) == (is_aws, has_tls)
