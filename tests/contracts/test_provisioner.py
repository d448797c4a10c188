"""What every provisioner does, whatever lies behind it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headwater.config.settings import Settings
from headwater.sources.provisioner import Provisioner, ResourceAction
from headwater.sources.registry import build_provisioner
from tests.fixtures.provisioning.cloud import Cloud
from tests.fixtures.provisioning.google_cloud import GoogleCloud

BuildSettings = Callable[[], Settings]


@pytest.fixture(params=["gcs", "local", "s3"])
def provisioner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Provisioner]:
    if request.param == "local":
        source = {"type": "local", "path": str(tmp_path / "in")}
        tables = {"a": {"path": "*.json"}}
        settings = Settings.model_validate(
            {"source": source, "lake": str(tmp_path / "lake"), "tables": tables}
        )
    elif request.param == "gcs":
        google_cloud: GoogleCloud = request.getfixturevalue("google_cloud")
        settings = google_cloud.settings()
    else:
        cloud: Cloud = request.getfixturevalue("cloud")
        settings = cloud.settings()
    with closing(build_provisioner(settings.sources[0], settings.lake)) as built:
        yield built


def list_changes(actions: tuple[ResourceAction, ...]) -> list[str]:
    return [action.change for action in actions if action.change != "none"]


def test_planning_changes_nothing(provisioner: Provisioner) -> None:
    assert provisioner.plan() == provisioner.plan()


def test_apply_matches_the_plan_and_is_idempotent(provisioner: Provisioner) -> None:
    plan = provisioner.plan()
    done: list[ResourceAction] = []
    provisioner.apply(plan, done.append)
    assert done == [action for action in plan.actions if action.change != "none"]
    assert list_changes(provisioner.plan().actions) == []


def test_a_plan_can_be_applied_twice(provisioner: Provisioner) -> None:
    plan = provisioner.plan()
    provisioner.apply(plan, lambda _: None)
    provisioner.apply(plan, lambda _: None)
    assert not provisioner.plan().has_changes


def test_removal_is_complete_and_idempotent(provisioner: Provisioner) -> None:
    provisioner.apply(provisioner.plan(), lambda _: None)
    removal = provisioner.plan_removal()
    done: list[ResourceAction] = []
    provisioner.remove(removal, done.append)
    assert {action.change for action in done} <= {"delete"}
    assert not provisioner.plan_removal().has_changes
    provisioner.remove(removal, lambda _: None)


def test_the_probe_hears_of_its_object(provisioner: Provisioner) -> None:
    provisioner.apply(provisioner.plan(), lambda _: None)
    assert all(finding.status == "ok" for finding in provisioner.probe(20))
