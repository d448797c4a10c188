"""`plan`, `up` and `down` as commands for a bucket in Google Cloud: the JSON, the text, the exit codes."""

from pathlib import Path

import pytest

from tests.fixtures.provisioning.google_cloud import GoogleCloud
from tests.fixtures.provisioning.shell import Shell


@pytest.fixture
def shell(google_cloud: GoogleCloud, tmp_path: Path) -> Shell:
    return Shell(tmp_path, google_cloud.settings())


def test_lifecycle_as_json(shell: Shell, google_cloud: GoogleCloud) -> None:
    output = shell.read("plan")
    name = google_cloud.name
    assert [(item["kind"], item["resource"], item["change"]) for item in output["actions"]] == [
        ("dead_letter_topic", f"{name}-dead", "create"),
        ("dead_letter_subscription", f"{name}-dead", "create"),
        ("topic", name, "create"),
        ("subscription", name, "create"),
        ("notification", google_cloud.bucket, "create"),
    ]
    assert output["actions"][2]["address"] == google_cloud.topic()
    done = shell.read("up", "--probe-seconds", "20")
    assert done["applied"] == output["actions"]
    assert [finding["status"] for finding in done["probe"]] == ["ok", "ok"]
    assert shell.run("down", "--json").exit_code == 2
    assert len(shell.read("down", "--yes")["applied"]) == 5
    assert google_cloud.list_names() == set()


def test_lifecycle_as_text(shell: Shell, google_cloud: GoogleCloud) -> None:
    shown = " ".join(shell.run("plan").stdout.split())
    assert "+ create dead letter topic" in shown
    assert "message_retention_duration: 604800" in shown
    assert "label headwater_owner:" in shown
    assert "roles/pubsub.publisher: serviceAccount:service-0@gs-project-accounts" in shown
    assert shown.endswith("5 to create.")
    done = shell.run("up", "--probe-seconds", "20").stdout
    assert f"created subscription {google_cloud.name}\n" in done
    assert "an object was put; its notification took" in done
    assert "Nothing to do" in shell.run("up", "--no-probe").stdout
    assert f"subscription {google_cloud.name}" in shell.run("down").stderr
    assert f"removed notification {google_cloud.bucket}" in shell.run("down", "--yes").stdout


def test_permissions_are_printed_for_three_roles(shell: Shell, google_cloud: GoogleCloud) -> None:
    output = shell.read("plan", "--policies")
    assert set(output) == {"set-up", "ingest", "serve"}
    subscription = f"//pubsub.googleapis.com/{google_cloud.subscription()}"
    assert output["ingest"][subscription] == ["pubsub.subscriptions.consume", "pubsub.subscriptions.get"]


def test_without_a_project_permissions_leave_it_open(google_cloud: GoogleCloud, tmp_path: Path) -> None:
    output = Shell(tmp_path, google_cloud.settings(project=None)).read("plan", "--policies")
    assert "//cloudresourcemanager.googleapis.com/projects/*" in output["set-up"]
