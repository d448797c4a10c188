"""Grants alongside those of others: read, changed and written under the policy's etag."""

from collections.abc import Callable
from typing import Any

import pytest
from google.api_core import exceptions as api
from google.iam.v1 import policy_pb2

from headwater.errors import SourceError, SourceUnavailableError
from headwater.sources.gcs.provisioning.grants import Grants
from headwater.sources.provisioner import AttributeChange, ResourceAction

TOPIC = "projects/p/topics/landing"
ROLE = "roles/pubsub.publisher"


class Policies:
    """The policy of one resource, as IAM keeps it. `before_write` runs as another writer would."""

    def __init__(self, *bindings: tuple[str, list[str], str]) -> None:
        self.policy = policy_pb2.Policy(etag=b"1")
        for role, members, condition in bindings:
            added = self.policy.bindings.add(role=role, members=members)
            if condition:
                added.condition.expression = condition
        self.before_write: list[Callable[[], None]] = []
        self.writes = 0

    def get_iam_policy(self, *, request: dict[str, Any], **_: object) -> policy_pb2.Policy:
        assert request == {"resource": TOPIC, "options": {"requested_policy_version": 3}}
        copy = policy_pb2.Policy()
        copy.CopyFrom(self.policy)
        return copy

    def set_iam_policy(self, *, request: dict[str, Any], **_: object) -> None:
        for change in self.before_write[:1]:
            del self.before_write[0]
            change()
        if request["policy"].etag != self.policy.etag:
            raise api.Aborted("There were concurrent policy changes.")
        self.writes += 1
        self.policy = request["policy"]

    def list_bindings(self) -> list[tuple[list[str], str]]:
        return [(list(item.members), item.condition.expression) for item in self.policy.bindings]


def add(policies: Policies, before: str, after: str) -> None:
    changes = (AttributeChange(ROLE, before, after), AttributeChange("label team", "", "data"))
    action = ResourceAction("topic", "landing", "update", changes, TOPIC)
    Grants(policies, TOPIC).add(action)  # type: ignore[arg-type]


def test_a_role_without_a_binding_gets_one_of_its_own() -> None:
    policies = Policies((ROLE, ["user:a"], "request.time < x"))
    add(policies, "", "serviceAccount:agent")
    assert policies.list_bindings() == [(["user:a"], "request.time < x"), (["serviceAccount:agent"], "")]
    assert policies.policy.version == 3


def test_only_what_the_plan_adds_is_granted() -> None:
    policies = Policies((ROLE, ["user:a"], ""))
    add(policies, "user:a, user:revoked", "serviceAccount:agent, user:a, user:revoked")
    assert policies.list_bindings() == [(["user:a", "serviceAccount:agent"], "")]


def test_nothing_is_written_without_a_new_grant() -> None:
    policies = Policies((ROLE, ["user:a"], ""))
    add(policies, "user:a", "user:a")
    assert policies.writes == 0


def test_a_write_after_another_one_is_repeated_with_it() -> None:
    policies = Policies((ROLE, ["user:a"], ""))

    def change() -> None:
        policies.policy.bindings[0].members.append("user:b")
        policies.policy.etag = b"2"

    policies.before_write.append(change)
    add(policies, "user:a", "serviceAccount:agent, user:a")
    assert policies.list_bindings() == [(["user:a", "user:b", "serviceAccount:agent"], "")]


def test_endless_changes_by_others_end_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    policies = Policies()

    def change() -> None:
        policies.policy.etag += b"x"

    policies.before_write.extend([change] * 100)
    with pytest.raises(SourceUnavailableError, match="concurrent policy changes"):
        add(policies, "", "serviceAccount:agent")
    assert 0 < len(policies.before_write) < 99


def test_bindings_of_one_role_are_read_as_one_without_conditional_ones() -> None:
    policies = Policies((ROLE, ["user:b"], ""), (ROLE, ["user:c"], "x"), (ROLE, ["user:a"], ""))
    assert Grants(policies, TOPIC).read() == {ROLE: "user:a, user:b"}  # type: ignore[arg-type]


def test_a_member_that_does_not_exist_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    policies = Policies()

    def refuse(**_: object) -> None:
        raise api.InvalidArgument("Service account agent does not exist.")

    monkeypatch.setattr(policies, "set_iam_policy", refuse)
    with pytest.raises(SourceError, match="agent does not exist") as caught:
        add(policies, "", "serviceAccount:agent")
    assert "--project=p" in caught.value.hint
