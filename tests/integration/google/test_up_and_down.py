"""`plan`, `up` and `down` in Google Cloud: what exists afterwards, and what of others stays."""

import re
from contextlib import closing

import pytest

from headwater.app.preflight import check_before_run
from headwater.app.provisioning import plan_removal, plan_resources, set_up, take_down
from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.errors import (
    BucketNotFoundError,
    ConfigError,
    CredentialsError,
    QueueNotFoundError,
    ResourceConflictError,
    SourceError,
)
from headwater.observability.clock import SystemClock
from headwater.sources.provisioner import Plan, ProvisioningScope, ResourceAction
from headwater.sources.registry import build_provisioner, build_queue, build_source
from tests.fixtures.provisioning.google_cloud import GoogleCloud

STORAGE_AGENT = "serviceAccount:service-0@gs-project-accounts.iam.gserviceaccount.com"
PUBSUB_AGENT = "serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com"
PUBLISHER = "roles/pubsub.publisher"
SUBSCRIBER = "roles/pubsub.subscriber"
KINDS = ["dead_letter_topic", "dead_letter_subscription", "topic", "subscription", "notification"]


def up(settings: Settings, *, adopt: bool = False, prune: bool = False) -> list[tuple[str, str]]:
    report = set_up(settings, ProvisioningScope(adopt, prune), probe_seconds=None)
    return [(action.kind, action.change) for action in report.applied]


def list_changes(plan: Plan) -> list[tuple[str, str]]:
    return [(action.kind, action.change) for action in plan.changes]


@pytest.mark.parametrize("prefix", ["", "in/"])
def test_up_creates_all_and_proves_it_and_does_nothing_the_second_time(
    google_cloud: GoogleCloud, prefix: str
) -> None:
    settings = google_cloud.settings(prefix=prefix)
    report = set_up(settings, probe_seconds=20)
    assert [action.kind for action in report.applied] == KINDS
    found = [(finding.name, finding.status) for finding in report.probe]
    assert found == [("probe.created", "ok"), ("probe.removed", "ok")]
    assert google_cloud.list_keys() == []
    again = set_up(settings, probe_seconds=None)
    assert (again.applied, again.plan.orphans, again.plan.warnings) == ((), (), ())
    findings = build_source(settings.sources[0]).check(needs_removals=True, clock=SystemClock())
    assert {finding.status for finding in findings} == {"ok"}


def test_plan_only_reads(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    before = google_cloud.writes
    assert list_changes(plan_resources(settings)) == [(kind, "create") for kind in KINDS]
    assert not plan_removal(settings).has_changes
    assert google_cloud.writes == before
    assert google_cloud.list_names() == set()


@pytest.mark.slow
def test_the_subscription_keeps_its_messages_and_has_dead_letters(google_cloud: GoogleCloud) -> None:
    up(google_cloud.settings(resources={"labels": {"team": "data"}, "max_delivery_attempts": 7}))
    found = google_cloud.read_subscription()
    dead = google_cloud.read_subscription(f"{google_cloud.name}-dead")
    assert found.ack_deadline_seconds == 30
    assert found.dead_letter_policy.max_delivery_attempts == 7
    assert found.dead_letter_policy.dead_letter_topic == dead.topic
    for one in (found, dead):
        assert one.message_retention_duration.total_seconds() == 7 * 86_400
        assert "expiration_policy" in one
        assert not one.expiration_policy.ttl
    for labeled in (
        found,
        dead,
        google_cloud.read_topic(),
        google_cloud.read_topic(f"{google_cloud.name}-dead"),
    ):
        assert labeled.labels["team"] == "data"
        assert labeled.labels["headwater_source"] == f"gs_{google_cloud.bucket}_"


@pytest.mark.slow
def test_only_the_service_agents_are_granted_roles(google_cloud: GoogleCloud) -> None:
    up(google_cloud.settings())
    roles = google_cloud.pubsub.members
    assert roles(google_cloud.topic(), PUBLISHER) == {STORAGE_AGENT}
    assert roles(google_cloud.topic(f"{google_cloud.name}-dead"), PUBLISHER) == {PUBSUB_AGENT}
    assert roles(google_cloud.subscription(), SUBSCRIBER) == {PUBSUB_AGENT}


def test_doctor_reports_a_grant_that_is_missing(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    up(settings)
    dead_letter_topic = google_cloud.topic(f"{google_cloud.name}-dead")
    google_cloud.pubsub.policies.pop(dead_letter_topic)
    source = build_source(settings.sources[0])
    (finding,) = [
        item for item in source.check(needs_removals=True, clock=SystemClock()) if item.status != "ok"
    ]
    assert (finding.name, finding.status) == ("source.subscription.grants", "warning")
    assert f"{PUBSUB_AGENT} does not have {PUBLISHER} on {dead_letter_topic}" in finding.detail
    assert f"add-iam-policy-binding {dead_letter_topic}" in finding.fix


@pytest.mark.slow
def test_doctor_needs_no_right_to_read_grants(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    up(settings)
    google_cloud.deny("resourcemanager.projects.get", "pubsub.topics.getIamPolicy")
    findings = build_source(settings.sources[0]).check(needs_removals=True, clock=SystemClock())
    assert {finding.status for finding in findings} == {"ok"}
    assert "source.subscription.grants" not in {finding.name for finding in findings}


@pytest.mark.slow
def test_a_message_that_is_never_acknowledged_ends_among_the_dead_letters(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings(resources={"max_delivery_attempts": 5})
    up(settings)
    google_cloud.put("poison.json")
    with closing(build_queue(settings.sources[0])) as queue:
        for _ in range(5):
            (message,) = queue.receive(10, 10)
            queue.release({message.message_id: message.receipt_handle})
        assert queue.receive(10, 1) == ()
    (dead,) = google_cloud.emulated.drain(google_cloud.subscription(f"{google_cloud.name}-dead"))
    assert dead.attributes["objectId"] == "poison.json"


@pytest.mark.slow
def test_the_bucket_notifies_of_keys_under_the_prefix_only(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings(prefix="in/")
    up(settings)
    (config,) = google_cloud.list_configs()
    assert config["event_types"] == ["OBJECT_ARCHIVE", "OBJECT_DELETE", "OBJECT_FINALIZE"]
    assert (config["object_name_prefix"], config["payload_format"]) == ("in/", "JSON_API_V1")
    google_cloud.put("out/a.json")
    google_cloud.put("in/a.json")
    with closing(build_queue(settings.sources[0])) as queue:
        assert [message.attributes["objectId"] for message in queue.receive(10, 5)] == ["in/a.json"]


@pytest.mark.slow
def test_messages_of_others_survive_the_probe(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    up(settings)
    google_cloud.put("mine.json")
    assert set_up(settings, probe_seconds=20).is_good
    with closing(build_queue(settings.sources[0])) as queue:
        assert [message.attributes["objectId"] for message in queue.receive(10, 5)] == ["mine.json"]


@pytest.mark.slow
def test_the_probe_deletes_the_generation_that_it_has_put(google_cloud: GoogleCloud) -> None:
    # In a versioned bucket any other deletion archives the object. The emulator ignores generations.
    assert set_up(google_cloud.settings(), probe_seconds=20).is_good
    (target,) = [target for target in google_cloud.storage.deletions if google_cloud.bucket in target]
    assert re.search(r"_headwater%2Fprobe-\w+\?generation=\d+", target)


@pytest.mark.slow
def test_run_finds_the_subscription_without_configuration(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    with pytest.raises(QueueNotFoundError, match=google_cloud.name) as caught:
        check_before_run(settings, read_environment())
    assert "headwater up" in caught.value.hint
    up(settings)
    check_before_run(settings, read_environment())


def test_a_project_is_required(google_cloud: GoogleCloud) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_resources(google_cloud.settings(project=None))
    assert "source.project" in caught.value.hint


@pytest.mark.slow
def test_drift_is_reported_by_attribute_and_corrected(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings(resources={"labels": {"team": "data"}})
    up(settings)
    google_cloud.emulated.subscriber.update_subscription(
        request={
            "subscription": {
                "name": google_cloud.subscription(),
                "ack_deadline_seconds": 600,
                "message_retention_duration": {"seconds": 3_600},
                "push_config": {"push_endpoint": "http://127.0.0.1:9/"},
            },
            "update_mask": {"paths": ["ack_deadline_seconds", "message_retention_duration", "push_config"]},
        }
    )
    google_cloud.pubsub.policies.pop(google_cloud.subscription())
    changed = google_cloud.settings(resources={"labels": {"team": "ops"}, "max_delivery_attempts": 12})
    plan = plan_resources(changed)
    (action,) = [item for item in plan.changes if item.kind == "subscription"]
    assert {change.name: (change.before, change.after) for change in action.attributes} == {
        "ack_deadline": ("600", "30"),
        "label team": ("data", "ops"),
        "max_delivery_attempts": ("10", "12"),
        "message_retention_duration": ("3600", "604800"),
        "push_endpoint": ("http://127.0.0.1:9/", ""),
        SUBSCRIBER: ("", PUBSUB_AGENT),
    }
    up(changed)
    assert not plan_resources(changed).has_changes
    assert google_cloud.read_subscription().ack_deadline_seconds == 30
    assert set_up(changed, probe_seconds=20).is_good


@pytest.mark.slow
def test_grants_of_others_stay_as_they_are_when_it_is_written(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    up(settings)
    topic, pubsub = google_cloud.topic(), google_cloud.pubsub
    pubsub.policies.pop(topic)
    pubsub.grant(topic, PUBLISHER, "user:conditional@acme.example", condition="request.time < x")
    pubsub.grant(topic, PUBLISHER, "user:revoked@acme.example")
    plan = plan_resources(settings)

    def change(resource: str) -> None:
        pubsub.before_set_policy = lambda _: None
        pubsub.grant(resource, PUBLISHER, "user:concurrent@acme.example")

    pubsub.revoke(topic, "user:revoked@acme.example")
    pubsub.before_set_policy = change
    with closing(build_provisioner(settings.sources[0], settings.lake)) as provisioner:
        provisioner.apply(plan, lambda _: None)
    assert pubsub.members(topic, PUBLISHER) == {STORAGE_AGENT, "user:concurrent@acme.example"}
    (conditional,) = [item for item in pubsub.policies[topic].bindings if item.HasField("condition")]
    assert list(conditional.members) == ["user:conditional@acme.example"]
    assert not plan_resources(settings).has_changes


@pytest.mark.slow
def test_a_grant_that_takes_effect_later_is_waited_for(google_cloud: GoogleCloud) -> None:
    google_cloud.storage.pending_grants = 1
    assert set_up(google_cloud.settings(), probe_seconds=20).is_good
    assert google_cloud.storage.pending_grants == 0


@pytest.mark.slow
def test_a_service_agent_that_does_not_exist_is_named_with_the_command(google_cloud: GoogleCloud) -> None:
    agent = PUBSUB_AGENT.removeprefix("serviceAccount:")
    google_cloud.pubsub.missing_agents.add(agent)
    with pytest.raises(SourceError, match=agent) as caught:
        up(google_cloud.settings())
    assert "services identity create --service=pubsub.googleapis.com --project=acme-test" in caught.value.hint


@pytest.mark.slow
def test_notifications_of_others_stay_through_up_and_down(google_cloud: GoogleCloud) -> None:
    theirs = google_cloud.add_config(event_types=["OBJECT_FINALIZE"])
    settings = google_cloud.settings()
    up(settings)
    assert len(google_cloud.list_configs()) == 2
    take_down(settings)
    assert google_cloud.list_configs() == [theirs]


@pytest.mark.slow
def test_a_changed_notification_is_replaced(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    up(settings)
    (config,) = google_cloud.storage.configs[google_cloud.bucket].values()
    config["event_types"] = ["OBJECT_FINALIZE"]
    assert up(settings) == [("notification", "update")]
    (found,) = google_cloud.list_configs()
    assert len(found["event_types"]) == 3
    assert found["id"] != config["id"]


@pytest.mark.slow
def test_a_hundred_notifications_stop_up_before_anything_is_created(google_cloud: GoogleCloud) -> None:
    for _ in range(100):
        google_cloud.add_config()
    with pytest.raises(ResourceConflictError, match="100 are allowed"):
        up(google_cloud.settings())
    assert google_cloud.list_names() == set()


@pytest.mark.slow
def test_a_topic_of_the_expected_name_is_not_taken_over_silently(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    google_cloud.create_topic()
    with pytest.raises(ResourceConflictError, match="not headwater's") as caught:
        up(settings)
    assert "source.resources.topic" in caught.value.hint
    assert take_down(settings) == ()
    assert google_cloud.list_names() == {f"topics/{google_cloud.name}"}
    assert ("topic", "update") in up(settings, adopt=True)
    assert set_up(settings, probe_seconds=20).is_good
    take_down(settings)
    assert google_cloud.list_names() == set()


def test_resources_of_another_lake_are_refused_and_the_lake_named(google_cloud: GoogleCloud) -> None:
    up(google_cloud.settings(lake="gs://acme-lake/bronze"))
    with pytest.raises(ResourceConflictError, match="lake gs_acme-lake_bronze") as caught:
        up(google_cloud.settings(lake="gs://another/lake"))
    assert "source.subscription" in caught.value.hint


@pytest.mark.slow
def test_two_lakes_share_a_bucket_by_another_name(google_cloud: GoogleCloud) -> None:
    first = google_cloud.settings()
    second = google_cloud.settings(lake="gs://another/lake", subscription=f"{google_cloud.bucket}-2")
    for settings in (first, second):
        assert set_up(settings, probe_seconds=20).is_good
    take_down(first)
    assert len(google_cloud.list_configs()) == 1
    assert not plan_resources(second).has_changes


@pytest.mark.slow
def test_a_subscription_of_the_users_gets_the_notification_only(google_cloud: GoogleCloud) -> None:
    topic = google_cloud.create_topic(f"{google_cloud.bucket}-own")
    google_cloud.create_subscription(topic, f"{google_cloud.bucket}-own")
    before = google_cloud.read_subscription(f"{google_cloud.bucket}-own")
    settings = google_cloud.settings(subscription=f"{google_cloud.bucket}-own")
    with pytest.raises(CredentialsError, match="does not have permission to publish") as caught:
        up(settings)
    assert f"grant {PUBLISHER} on {topic}" in caught.value.hint
    google_cloud.pubsub.grant(topic, PUBLISHER, STORAGE_AGENT)
    report = set_up(settings, probe_seconds=20)
    assert [action.kind for action in report.applied] == ["notification"]
    assert report.is_good
    assert [action.kind for action in take_down(settings)] == ["notification"]
    assert google_cloud.read_subscription(f"{google_cloud.bucket}-own") == before


@pytest.mark.slow
def test_a_subscription_of_the_users_that_pushes_is_a_problem(google_cloud: GoogleCloud) -> None:
    topic = google_cloud.create_topic(f"{google_cloud.bucket}-own")
    push = {"push_endpoint": "http://127.0.0.1:9/"}
    google_cloud.create_subscription(topic, f"{google_cloud.bucket}-own", push_config=push)
    with pytest.raises(ResourceConflictError, match="pushes its messages"):
        up(google_cloud.settings(subscription=f"{google_cloud.bucket}-own"))


@pytest.mark.slow
def test_a_configured_name_is_created_if_it_does_not_exist(google_cloud: GoogleCloud) -> None:
    name = f"{google_cloud.bucket}-mine"
    full_name = google_cloud.subscription(name)
    settings = google_cloud.settings(
        subscription=full_name, resources={"topic": f"{name}-topic"}, project=None
    )
    assert set_up(settings, probe_seconds=20).is_good
    assert google_cloud.list_names() == {
        f"subscriptions/{name}",
        f"subscriptions/{name}-dead",
        f"topics/{name}-topic",
        f"topics/{name}-topic-dead",
    }


@pytest.mark.slow
def test_a_subscription_of_ours_with_a_deleted_topic_is_a_problem_with_the_way_out(
    google_cloud: GoogleCloud,
) -> None:
    settings = google_cloud.settings()
    up(settings)
    google_cloud.emulated.publisher.delete_topic(topic=google_cloud.topic())
    with pytest.raises(ResourceConflictError, match="has topic none instead of") as caught:
        up(settings)
    assert f"gcloud pubsub subscriptions delete {google_cloud.subscription()}" in caught.value.hint
    google_cloud.emulated.subscriber.delete_subscription(subscription=google_cloud.subscription())
    assert set_up(settings, probe_seconds=20).is_good


@pytest.mark.slow
def test_the_topic_of_an_adopted_subscription_is_adopted_by_its_name(google_cloud: GoogleCloud) -> None:
    name = f"{google_cloud.bucket}-own"
    google_cloud.create_subscription(google_cloud.create_topic(f"{name}-topic"), name)
    with pytest.raises(ResourceConflictError) as caught:
        up(google_cloud.settings(subscription=name), adopt=True)
    assert f"set source.resources.topic to {name}-topic" in caught.value.hint
    settings = google_cloud.settings(subscription=name, resources={"topic": f"{name}-topic"})
    up(settings, adopt=True)
    assert set_up(settings, probe_seconds=20).is_good
    take_down(settings)
    assert google_cloud.list_names() == set()


@pytest.mark.slow
def test_another_prefix_leaves_orphans_that_prune_removes(google_cloud: GoogleCloud) -> None:
    up(google_cloud.settings(prefix="in/"))
    names = google_cloud.list_names()
    settings = google_cloud.settings(prefix="in/orders/")
    up(settings)
    orphans = plan_resources(settings).orphans
    assert sorted(action.kind for action in orphans) == sorted(KINDS)
    assert names < google_cloud.list_names()
    assert up(settings, prune=True) == [
        ("notification", "delete"),
        ("subscription", "delete"),
        ("topic", "delete"),
        ("dead_letter_subscription", "delete"),
        ("dead_letter_topic", "delete"),
    ]
    assert not names & google_cloud.list_names()
    assert plan_resources(settings).orphans == ()
    assert len(google_cloud.list_configs()) == 1


@pytest.mark.slow
def test_orphans_that_another_lake_has_adopted_since_are_kept(google_cloud: GoogleCloud) -> None:
    up(google_cloud.settings(prefix="in/"))
    names = google_cloud.list_names()
    settings = google_cloud.settings(prefix="in/orders/")
    with closing(
        build_provisioner(settings.sources[0], settings.lake, ProvisioningScope(prune=True))
    ) as built:
        plan = built.plan()
        up(google_cloud.settings(prefix="in/", lake="gs://another/lake"), adopt=True)
        built.apply(plan, lambda _: None)
    assert names < google_cloud.list_names()


def test_down_removes_own_resources_and_is_idempotent(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    up(settings)
    assert [action.kind for action in take_down(settings)] == [
        "notification",
        "subscription",
        "topic",
        "dead_letter_subscription",
        "dead_letter_topic",
    ]
    assert google_cloud.list_names() == set()
    assert take_down(settings) == ()
    assert set_up(settings, probe_seconds=20).is_good


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.slow
def test_interrupted_up_and_down_are_completed_by_the_next(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()

    def kill(_: ResourceAction) -> None:
        raise Killed

    for _ in KINDS:
        with pytest.raises(Killed):
            set_up(settings, probe_seconds=None, on_action=kill)
    assert set_up(settings, probe_seconds=20).is_good
    for left in range(4, -1, -1):
        with pytest.raises(Killed):
            take_down(settings, on_action=kill)
        assert len(google_cloud.list_names()) == left
    assert not plan_removal(settings).has_changes


@pytest.mark.slow
def test_a_topic_without_its_grant_is_completed(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    google_cloud.deny("pubsub.topics.setIamPolicy")
    with pytest.raises(CredentialsError):
        up(settings)
    google_cloud.pubsub.denied.clear()
    assert up(settings)[0] == ("dead_letter_topic", "update")
    assert set_up(settings, probe_seconds=20).is_good


@pytest.mark.slow
def test_a_resource_that_is_created_concurrently_is_not_taken_over(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    with closing(build_provisioner(settings.sources[0], settings.lake)) as provisioner:
        plan = provisioner.plan()
        google_cloud.create_topic()
        with pytest.raises(ResourceConflictError, match="created concurrently"):
            provisioner.apply(plan, lambda _: None)
    assert google_cloud.read_topic().labels == {}


@pytest.mark.slow
def test_a_missing_bucket_is_reported_and_nothing_is_created(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings(bucket=f"{google_cloud.bucket}-none")
    for act in (plan_resources, up):
        with pytest.raises(BucketNotFoundError, match="does not exist"):
            act(settings)
    assert google_cloud.list_names() == set()
    assert take_down(settings) == ()


@pytest.mark.slow
def test_resources_of_a_deleted_bucket_can_be_removed(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    up(settings)
    google_cloud.client.bucket(google_cloud.bucket).delete()
    assert len(take_down(settings)) == 4
    assert google_cloud.list_names() == set()
