"""`plan`, `up` and `down` as commands: the JSON that scripts rely on, the text, the exit codes."""

import json
from pathlib import Path

import pytest

from tests.fixtures.provisioning.cloud import Cloud
from tests.fixtures.provisioning.shell import Shell


@pytest.fixture
def shell(cloud: Cloud, tmp_path: Path) -> Shell:
    return Shell(tmp_path, cloud.settings())


def test_lifecycle_as_json(shell: Shell, cloud: Cloud) -> None:
    output = shell.read("plan")
    assert output["ok"]
    assert [(item["kind"], item["resource"], item["change"]) for item in output["actions"]] == [
        ("dead_letter_queue", f"headwater-{cloud.bucket}-dead", "create"),
        ("queue", f"headwater-{cloud.bucket}", "create"),
        ("notification", cloud.bucket, "create"),
    ]
    retention = [
        item for item in output["actions"][1]["attributes"] if item["name"] == "MessageRetentionPeriod"
    ]
    assert retention == [{"name": "MessageRetentionPeriod", "before": "", "after": "1209600"}]

    assert shell.read("up", "--dry-run") == output
    assert cloud.list_queues() == set()
    done = shell.read("up", "--probe-seconds", "20")
    assert done["applied"] == done["actions"] == output["actions"]
    assert [finding["status"] for finding in done["probe"]] == ["ok", "ok"]
    assert {item["change"] for item in shell.read("plan")["actions"]} == {"none"}

    refused = shell.run("down", "--json")
    assert refused.exit_code == 2
    assert "--yes" in json.loads(refused.stderr)["hint"]
    assert len(shell.read("down", "--dry-run")["actions"]) == 3
    assert len(cloud.list_queues()) == 2
    assert [item["change"] for item in shell.read("down", "--yes")["applied"]] == ["delete"] * 3
    assert cloud.list_queues() == set()
    assert shell.read("down")["actions"][0]["change"] == "none"


def test_lifecycle_as_text(shell: Shell, cloud: Cloud) -> None:
    shown = shell.run("plan").stdout
    assert "+ create" in shown
    assert "MessageRetentionPeriod: 1209600" in shown
    assert shown.rstrip().endswith("3 to create.")
    done = shell.run("up", "--probe-seconds", "20").stdout
    assert f"created queue headwater-{cloud.bucket}\n" in done
    assert "an object was put; its notification took" in done
    assert shell.run("plan").stdout.rstrip().endswith("Nothing to do.")
    assert "Nothing to do" in shell.run("up", "--no-probe").stdout
    refused = shell.run("down")
    assert refused.exit_code == 2
    assert f"queue headwater-{cloud.bucket}" in refused.stderr
    assert f"removed notification {cloud.bucket}" in shell.run("down", "--yes").stdout
    assert shell.run("down", "--yes").exit_code == 0


def test_problem_is_reported_and_rejected(shell: Shell, cloud: Cloud) -> None:
    cloud.create_queue(f"headwater-{cloud.bucket}")
    output = shell.read("plan", exit_code=1)
    assert not output["ok"]
    assert [problem["name"] for problem in output["problems"]] == ["source.resources.queue"]
    shown = shell.run("plan")
    assert shown.exit_code == 1
    assert "PROBLEM" in shown.stdout
    refused = shell.run("up", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stderr)["error"] == "ResourceConflictError"
    assert shell.run("up", "--adopt", "--no-probe").exit_code == 0


def test_orphans_are_named_until_they_are_pruned(shell: Shell, cloud: Cloud) -> None:
    assert shell.run("--set", "source.notifications=sns", "up", "--no-probe").exit_code == 0
    left = shell.run("up", "--no-probe").stdout
    assert f"Orphans kept: topic headwater-{cloud.bucket}" in left
    orphans = [item for item in shell.read("plan")["actions"] if item["orphan"]]
    assert [(item["kind"], item["change"]) for item in orphans] == [("topic", "delete")]
    assert "removed topic" in shell.run("down", "--prune", "--yes").stdout


def test_policies_are_printed_for_three_roles(shell: Shell, cloud: Cloud) -> None:
    output = shell.read("plan", "--policies")
    assert set(output) == {"set-up", "ingest", "serve"}
    assert all(policy["Version"] == "2012-10-17" for policy in output.values())
    assert f"arn:aws:sqs:us-east-1:000000000000:headwater-{cloud.bucket}" in json.dumps(output["ingest"])
