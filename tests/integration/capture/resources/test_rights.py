"""The printed policies against a server that checks rights: enough for their role, and for no other."""

import json
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from headwater.app.preflight import check_before_run
from headwater.app.provisioning import build_policies, plan_resources, set_up, take_down
from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.demo.emulator import CREDENTIALS, Emulator
from headwater.demo.landing_zone import build_clients
from headwater.errors import CredentialsError
from headwater.sources.registry import build_queue
from tests.fixtures.emulator import EmulatorSession, find_emulator_python
from tests.fixtures.provisioning.cloud import Cloud

WAYS = ("sqs", "sns", "eventbridge")
BATCHED = ("sqs:ChangeMessageVisibility", "sqs:DeleteMessage")


@pytest.fixture(scope="module")
def strict_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorSession]:
    folder = tmp_path_factory.mktemp("strict")
    with Emulator(find_emulator_python(), folder, checks_rights=True) as server:
        clients = build_clients(server.endpoint)
        yield EmulatorSession(server.endpoint, clients)
        clients.close()


@pytest.fixture
def strict(strict_emulator: EmulatorSession, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, strict_emulator.environment[name])
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bucket = f"landing-{uuid.uuid4().hex[:12]}"
    strict_emulator.clients.s3.create_bucket(Bucket=bucket)
    return Cloud(strict_emulator, bucket)


def become(
    strict: Cloud, settings: Settings, role: str, monkeypatch: pytest.MonkeyPatch, without: str = ""
) -> None:
    """Go on as a user who has the printed policy of a role, less one right."""
    become_root(monkeypatch)
    policy: Any = build_policies(settings)[role]  # type: ignore[index]
    for statement in policy["Statement"]:
        kept = [action for action in statement["Action"] if action != without]
        # This server asks for rights to tags and rules by other ARNs than AWS.
        if statement["Sid"] in ("Rule", "Topic"):
            statement["Resource"] = "*"
        # In AWS the right to do one is the right to do ten; this server tells them apart.
        statement["Action"] = [*kept, *(f"{action}Batch" for action in kept if action in BATCHED)]
    iam = strict.client("iam")
    user = f"user-{uuid.uuid4().hex[:8]}"
    iam.create_user(UserName=user)
    iam.put_user_policy(UserName=user, PolicyName=role, PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=user)["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])


def become_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("way", WAYS)
def test_setting_up_needs_its_policy_and_no_more(
    strict: Cloud, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = strict.settings(notifications=way, prefix="in/")
    become(strict, settings, "set-up", monkeypatch)
    report = set_up(settings, probe_seconds=20)
    # The server lets in only whom the queue's and the topic's policies let in.
    assert {finding.status for finding in report.probe} == {"ok"}
    assert report.plan.warnings == ()
    assert not plan_resources(settings).has_changes
    take_down(settings)
    assert strict.list_queues() == set()


def test_ingesting_needs_its_policy_and_may_not_set_up(
    strict: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = strict.settings()
    become(strict, settings, "ingest", monkeypatch)
    with pytest.raises(CredentialsError) as caught:
        set_up(settings, probe_seconds=None)
    assert "role set-up" in caught.value.hint
    become_root(monkeypatch)
    set_up(settings, probe_seconds=None)
    strict.emulator.clients.s3.put_object(Bucket=strict.bucket, Key="a.json", Body=b"{}")

    become(strict, settings, "ingest", monkeypatch)
    check_before_run(settings, read_environment())
    with closing(build_queue(settings.sources[0])) as queue:
        received = queue.receive(10, 5)
        assert any("a.json" in message.body for message in received)
        handles = {message.message_id: message.receipt_handle for message in received}
        assert queue.extend(handles, 30) == {}
        assert queue.ack(handles) == {}


def test_serving_sees_how_full_the_queue_is_and_takes_nothing_out(
    strict: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = strict.settings()
    set_up(settings, probe_seconds=None)
    become(strict, settings, "serve", monkeypatch)
    with closing(build_queue(settings.sources[0])) as queue:
        depth = queue.depth()
        assert depth is not None
        assert depth.in_flight == 0
        with pytest.raises(CredentialsError):
            queue.receive(1, 0)


@pytest.mark.parametrize(
    "right",
    [
        "sqs:CreateQueue",
        "sqs:GetQueueAttributes",
        "sqs:ListQueueTags",
        "s3:GetBucketNotification",
        "s3:PutBucketNotification",
    ],
)
def test_a_right_that_is_missing_is_named(strict: Cloud, right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = strict.settings()
    become(strict, settings, "set-up", monkeypatch, without=right)
    if right in ("sqs:GetQueueAttributes", "sqs:ListQueueTags"):
        strict.create_queue(f"headwater-{strict.bucket}")
    with pytest.raises(CredentialsError) as caught:
        set_up(settings, probe_seconds=None)
    assert right in caught.value.message
    assert right in caught.value.hint
    assert "headwater plan --policies" in caught.value.hint


def test_without_the_right_to_put_an_object_the_probe_says_so(
    strict: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = strict.settings()
    become(strict, settings, "set-up", monkeypatch, without="s3:PutObject")
    [finding] = set_up(settings, probe_seconds=5).probe
    assert "s3:PutObject" in finding.detail
