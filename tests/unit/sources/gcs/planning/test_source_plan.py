"""The plan of a whole source: a subscription of the user's, one that cannot be changed, orphans, removal."""

from collections.abc import Mapping

import pytest

from headwater.config.source import GcsSourceConfig
from headwater.sources.gcs.judging import DELETED_TOPIC
from headwater.sources.gcs.planning.desired import Agents
from headwater.sources.gcs.planning.ownership import build_owner
from headwater.sources.gcs.planning.source_plan import (
    SourceState,
    find_given,
    plan_source,
    plan_source_removal,
    plan_with_given,
)
from headwater.sources.gcs.resource_names import Addresses, last_part
from headwater.sources.planning.actions import Observed
from headwater.sources.provisioner import Plan, ProvisioningScope, ResourceKind

OWNER = build_owner("gs://lake", "acme")
AGENTS = Agents("storage@agents", "pubsub@agents")
NOTHING: Mapping[str, str] = {}
SETTINGS = {
    "topic": "projects/p/topics/headwater-acme",
    "filter": "",
    "push_endpoint": "",
    "ack_deadline": "30",
    "message_retention_duration": "604800",
    "expiration": "never",
    "dead_letter_topic": "projects/p/topics/headwater-acme-dead",
    "max_delivery_attempts": "10",
    "roles/pubsub.subscriber": "serviceAccount:pubsub@agents",
}


def configure(**fields: object) -> GcsSourceConfig:
    return GcsSourceConfig.model_validate({"type": "gcs", "bucket": "acme", **fields})


def observe(
    kind: ResourceKind, tags: Mapping[str, str] | None = None, settings: Mapping[str, str] = NOTHING
) -> Observed:
    address = Addresses.of(configure(), "p").by_kind[kind]
    labels = OWNER.build_tags({}) if tags is None else tags
    return Observed(kind, last_part(address), address, {**SETTINGS, **settings}, labels)


def state_of(source: GcsSourceConfig, *observed: Observed) -> SourceState:
    return SourceState(Addresses.of(source, "p"), observed=observed)


def plan(source: GcsSourceConfig, *observed: Observed) -> Plan:
    return plan_source(source, OWNER, state_of(source, *observed), AGENTS, ProvisioningScope())


def test_a_longer_retention_and_further_grants_are_kept() -> None:
    grants = "serviceAccount:a, serviceAccount:pubsub@agents"
    kept = {"message_retention_duration": "2678400", "roles/pubsub.subscriber": grants}
    found = observe("subscription", settings=kept)
    (action,) = [item for item in plan(configure(), found).actions if item.kind == "subscription"]
    assert action.change == "none"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"topic": DELETED_TOPIC}, "has topic none instead of projects/p/topics/headwater-acme"),
        ({"topic": "projects/p/topics/x"}, "has topic 'projects/p/topics/x' instead of"),
        ({"filter": "attributes.x = 1"}, "has filter 'attributes.x = 1' instead of none"),
    ],
)
def test_attributes_that_cannot_be_changed_are_problems(settings: dict[str, str], text: str) -> None:
    (problem,) = plan(configure(), observe("subscription", settings=settings)).problems
    assert text in problem.detail
    assert "subscriptions delete projects/p/subscriptions/headwater-acme" in problem.fix
    assert ("source.resources.topic to x" in problem.fix) == ("topics/x" in text)


def test_a_new_subscription_has_no_problem() -> None:
    found = plan(configure())
    assert found.problems == ()
    assert len(found.changes) == 5


@pytest.mark.parametrize(
    ("source", "tags", "adopt", "is_given"),
    [
        (configure(subscription="headwater-acme"), {}, False, True),
        (configure(subscription="headwater-acme"), {}, True, False),
        (configure(subscription="headwater-acme"), None, False, False),
        (configure(), {}, False, False),
    ],
)
def test_only_a_configured_subscription_that_is_not_ours_is_the_users(
    source: GcsSourceConfig, tags: dict[str, str] | None, adopt: bool, is_given: bool
) -> None:
    state = state_of(source, observe("subscription", tags))
    assert (find_given(source, OWNER, state, adopt=adopt) is not None) == is_given


def test_the_users_subscription_is_judged_as_by_doctor() -> None:
    source = configure(subscription="headwater-acme")
    settings = {"message_retention_duration": "3600", "filter": "attributes.x = 1"}
    given = observe("subscription", {}, settings)
    found = plan_with_given(source, OWNER, state_of(source, given), given, prune=False)
    assert found.problems == ()
    assert [warning.name for warning in found.warnings] == [
        "source.subscription.filter",
        "source.subscription.retention",
    ]
    assert [(item.kind, item.change) for item in found.actions] == [
        ("subscription", "none"),
        ("notification", "create"),
    ]
    gone = observe("subscription", {}, {"topic": DELETED_TOPIC})
    (problem,) = plan_with_given(source, OWNER, state_of(source, gone), gone, prune=False).problems
    assert "was deleted" in problem.detail


def test_removal_leaves_what_is_not_ours_and_a_topic_goes_after_its_subscription() -> None:
    source = configure()
    state = state_of(source, observe("topic"), observe("subscription"), observe("dead_letter_topic", {}))
    found = plan_source_removal(source, OWNER, state, prune=False)
    assert [(item.kind, item.change) for item in found.actions] == [
        ("notification", "none"),
        ("subscription", "delete"),
        ("topic", "delete"),
        ("dead_letter_subscription", "none"),
        ("dead_letter_topic", "none"),
    ]
    assert "without headwater's label" in found.actions[-1].note
