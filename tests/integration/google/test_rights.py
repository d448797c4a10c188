"""The printed permissions against servers that check them: enough for their role, and no more."""

from collections.abc import Callable
from contextlib import closing

import pytest

from headwater.app.preflight import check_before_run
from headwater.app.provisioning import build_policies, plan_resources, set_up, take_down
from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.errors import CredentialsError
from headwater.observability.clock import SystemClock
from headwater.sources.provisioner import Role
from headwater.sources.registry import build_queue, build_source
from tests.fixtures.provisioning.google_cloud import GoogleCloud

# Downloads go to paths that the servers of the tests do not tell from others.
UNCHECKED = {"storage.objects.get"}


def list_permissions(settings: Settings, role: Role) -> set[str]:
    return {str(right) for rights in build_policies(settings)[role].values() for right in rights}  # type: ignore[attr-defined]


def update_labels(google_cloud: GoogleCloud) -> None:
    set_up(google_cloud.settings(resources={"labels": {"team": "data"}}), probe_seconds=None)


def test_setting_up_needs_its_permissions_and_no_more(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings()
    google_cloud.pubsub.asked.clear()
    google_cloud.storage.asked.clear()
    assert set_up(settings, probe_seconds=20).is_good
    update_labels(google_cloud)
    take_down(settings)
    assert google_cloud.asked == list_permissions(settings, "set-up")


def test_ingesting_needs_its_permissions_and_no_more(google_cloud: GoogleCloud) -> None:
    settings = google_cloud.settings(lake=f"gs://{google_cloud.bucket}/lake", clean_source="delete")
    set_up(settings, probe_seconds=None)
    google_cloud.put("a.json")
    printed = list_permissions(settings, "ingest")
    denied = list_permissions(settings, "set-up") - printed
    google_cloud.deny(*denied)
    google_cloud.pubsub.asked.clear()
    google_cloud.storage.asked.clear()
    source = build_source(settings.sources[0])
    check_before_run(settings, read_environment())
    assert {item.status for item in source.check(needs_removals=True, clock=SystemClock())} == {"ok"}
    with closing(build_queue(settings.sources[0])) as queue:
        handles = {message.message_id: message.receipt_handle for message in queue.receive(10, 5)}
        assert len(handles) == 1
        assert queue.extend(handles, 30) == {}
        assert queue.ack(handles) == {}
    used_by_tables = {"storage.objects.create", "storage.objects.delete"}
    assert google_cloud.asked - denied == printed - UNCHECKED - used_by_tables


def ask_to_plan(google_cloud: GoogleCloud) -> None:
    plan_resources(google_cloud.settings())


def ask_to_create(google_cloud: GoogleCloud) -> None:
    set_up(google_cloud.settings(), probe_seconds=None)


def ask_to_remove(google_cloud: GoogleCloud) -> None:
    take_down(google_cloud.settings())


@pytest.mark.parametrize(
    ("right", "act", "resource"),
    [
        ("resourcemanager.projects.get", ask_to_plan, "project 0"),
        ("storage.buckets.get", ask_to_plan, "bucket landing-"),
        ("storage.buckets.update", ask_to_create, "bucket landing-"),
        ("storage.buckets.update", ask_to_remove, "bucket landing-"),
        ("pubsub.topics.get", ask_to_plan, "topics/headwater-landing-"),
        ("pubsub.topics.create", ask_to_create, "topics/headwater-landing-"),
        ("pubsub.topics.getIamPolicy", ask_to_create, "topics/headwater-landing-"),
        ("pubsub.topics.setIamPolicy", ask_to_create, "topics/headwater-landing-"),
        ("pubsub.topics.update", update_labels, "topics/headwater-landing-"),
        ("pubsub.topics.delete", ask_to_remove, "topics/headwater-landing-"),
        ("pubsub.subscriptions.get", ask_to_plan, "subscriptions/headwater-landing-"),
        ("pubsub.subscriptions.create", ask_to_create, "subscriptions/headwater-landing-"),
        ("pubsub.topics.attachSubscription", ask_to_create, "subscriptions/headwater-landing-"),
        ("pubsub.subscriptions.getIamPolicy", ask_to_create, "subscriptions/headwater-landing-"),
        ("pubsub.subscriptions.setIamPolicy", ask_to_create, "subscriptions/headwater-landing-"),
        ("pubsub.subscriptions.update", update_labels, "subscriptions/headwater-landing-"),
        ("pubsub.subscriptions.delete", ask_to_remove, "subscriptions/headwater-landing-"),
    ],
)
def test_a_missing_permission_is_named_with_its_resource(
    google_cloud: GoogleCloud, right: str, act: Callable[[GoogleCloud], None], resource: str
) -> None:
    if act in (update_labels, ask_to_remove):
        ask_to_create(google_cloud)
    google_cloud.deny(right)
    with pytest.raises(CredentialsError) as caught:
        act(google_cloud)
    assert right in caught.value.message
    assert resource in caught.value.message
    assert right in caught.value.hint
    assert "role set-up" in caught.value.hint


@pytest.mark.parametrize("right", ["pubsub.topics.list", "pubsub.subscriptions.list"])
def test_without_the_right_to_list_orphans_are_not_detected(google_cloud: GoogleCloud, right: str) -> None:
    google_cloud.deny(right)
    report = set_up(google_cloud.settings(), probe_seconds=None)
    assert len(report.applied) == 5
    (warning,) = report.plan.warnings
    assert right in warning.detail
    assert right in warning.fix


@pytest.mark.parametrize("right", ["storage.objects.create", "storage.objects.delete"])
def test_without_the_rights_of_the_probe_it_says_so(google_cloud: GoogleCloud, right: str) -> None:
    google_cloud.deny(right)
    (finding,) = set_up(google_cloud.settings(), probe_seconds=5).probe
    assert (finding.status, right in finding.detail) == ("problem", True)
