"""`plan`, `up` and `down` of several sources: their own resources, none of them an orphan of another."""

import pytest

from headwater.app.provisioning import build_policies, plan_removal, plan_resources, set_up, take_down
from headwater.config.settings import Settings
from headwater.errors import ResourceConflictError, UsageError
from headwater.sources.provisioner import ProvisioningScope
from tests.fixtures.provisioning.cloud import Cloud

PRUNE = ProvisioningScope(prune=True)


def configure(cloud: Cloud, *names: str, **common: object) -> Settings:
    """Prefixes of one bucket."""
    given = {"type": "s3", "bucket": cloud.bucket, "endpoint": cloud.emulator.endpoint, **common}
    sources = [{"name": name, "prefix": f"{name}/", **given} for name in names]
    tables = {"a": {"path": "*.json"}}
    return Settings.model_validate({"source": sources, "lake": cloud.lake, "tables": tables})


def list_prefixes(cloud: Cloud) -> list[str]:
    rules = cloud.read_notification().get("QueueConfigurations", [])
    return sorted(rule["Filter"]["Key"]["FilterRules"][0]["Value"] for rule in rules)


def test_each_source_has_its_own_resources_and_pruning_keeps_those_of_the_others(cloud: Cloud) -> None:
    both = configure(cloud, "east", "west")
    report = set_up(both, probe_seconds=20)
    assert report.is_good
    assert [finding.detail.split(":")[0] for finding in report.probe] == ["source east"] * 2 + [
        "source west"
    ] * 2
    assert list_prefixes(cloud) == ["east/", "west/"]
    again = set_up(both, PRUNE, probe_seconds=None)
    assert (again.applied, again.plan.orphans) == ((), ())

    one = configure(cloud, "east")
    assert {action.kind for action in plan_resources(one).orphans} == {
        "notification",
        "queue",
        "dead_letter_queue",
    }
    set_up(one, PRUNE, probe_seconds=None)
    assert list_prefixes(cloud) == ["east/"]


def test_one_source_is_set_up_and_taken_down_by_its_name(cloud: Cloud) -> None:
    both = configure(cloud, "east", "west")
    set_up(both, only="west", probe_seconds=None)
    assert list_prefixes(cloud) == ["west/"]
    set_up(both, probe_seconds=None)
    assert not plan_removal(both, only="east").orphans
    take_down(both, PRUNE, only="east")
    assert list_prefixes(cloud) == ["west/"]
    assert not plan_resources(both, only="west").has_changes
    with pytest.raises(UsageError, match="no source 'north'"):
        plan_resources(both, only="north")
    with pytest.raises(UsageError, match="there are several sources"):
        build_policies(both)
    assert set(build_policies(both, "east")) == {"set-up", "ingest", "serve"}


def test_a_queue_of_several_sources_is_left_as_it_is(cloud: Cloud) -> None:
    url, _ = cloud.create_queue()
    shared = configure(cloud, "east", "west", queue={"url": url, "endpoint": cloud.emulator.endpoint})
    with pytest.raises(ResourceConflictError, match=r"source east: .*source west: "):
        set_up(shared, probe_seconds=None)
    assert list_prefixes(cloud) == []
    removal = plan_removal(shared, only="east")
    assert {action.kind for action in removal.changes} <= {"notification"}
