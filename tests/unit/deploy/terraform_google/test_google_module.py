"""The Terraform module for Google Cloud makes what `headwater up` makes.

Terraform evaluates its pure files without a provider.
"""

import json
import os
import re
import shutil
import subprocess
from typing import Any

import pytest
from ruamel.yaml import YAML

from headwater.config.settings import Settings
from headwater.config.source import GcsSourceConfig
from headwater.sources.gcs.judging import NotificationRule
from headwater.sources.gcs.planning.desired import Agents, build_desired
from headwater.sources.gcs.planning.notification_merge import WANTED_EVENTS
from headwater.sources.gcs.planning.ownership import build_owner
from headwater.sources.gcs.planning.source_plan import SourceState, find_given, plan_with_given
from headwater.sources.gcs.resource_names import Addresses
from headwater.sources.planning.actions import Observed
from tests.fixtures.deploy import DEPLOY

MODULE = DEPLOY / "terraform-google"
PAGE = DEPLOY.parent / "docs/how-to/deploy/terraform-google.md"
PURE = ("variables.tf", "names.tf", "source.tf")
HARNESS = """
output "all" {
  value = jsonencode({
    source    = yamlencode(local.source)
    names     = [local.name, local.dead_letter_name]
    retention = local.retention_seconds
    events    = local.events
  })
}
"""
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "prefix": {"prefix": "in/orders/"},
    "dots": {"bucket": "landing.acme.com"},
    "long": {"bucket": "b" * 63, "prefix": "long/" * 20},
    "name": {"name": "events.v1"},
    "numbers": {"ack_deadline": 60, "max_delivery_attempts": 20},
}


def run_terraform(*words, folder):
    terraform = shutil.which("terraform")
    if terraform is None:
        pytest.skip("terraform is not installed")
    environ = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}
    return subprocess.run(
        [terraform, *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def complete(variables):
    return {"bucket": "acme-landing", "project": "acme-data", **variables}


def evaluate(folder, variables):
    """Return what the pure files of the module compute; they need no provider."""
    for name in PURE:
        shutil.copy(MODULE / name, folder)
    (folder / "harness.tf").write_text(HARNESS)
    (folder / "terraform.tfvars.json").write_text(json.dumps(variables))
    done = run_terraform("apply", "-auto-approve", "-no-color", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(run_terraform("output", "-raw", "all", folder=folder).stdout)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    return {name: evaluate(tmp_path_factory.mktemp("tf"), complete(CASES[name])) for name in CASES}


def read_source(result):
    """The source of the lines that the module prints."""
    text = result["source"] + "\nlake: lake\ntables: {orders: {path: '*.json'}}\n"
    source = Settings.model_validate(YAML(typ="safe").load(text)).source
    assert isinstance(source, GcsSourceConfig)
    return source


def find_names(source):
    addresses = Addresses.of(source, "acme-data")
    return [addresses.topic.rpartition("/")[2], addresses.dead_letter_topic.rpartition("/")[2]]


@pytest.mark.parametrize("name", CASES)
def test_names_are_those_that_headwater_derives(evaluated, name):
    source = read_source(evaluated[name])
    assert evaluated[name]["names"] == find_names(source)
    if "name" not in CASES[name]:
        assert evaluated[name]["names"] == find_names(source.model_copy(update={"subscription": None}))


@pytest.mark.parametrize("name", CASES)
def test_printed_lines_are_the_given_source(evaluated, name):
    source = read_source(evaluated[name])
    given = complete(CASES[name])
    assert (source.bucket, source.project) == (given["bucket"], given["project"])
    assert source.prefix == given.get("prefix", "")
    assert source.queue.ack_deadline == given.get("ack_deadline", 30)


@pytest.mark.parametrize("name", CASES)
def test_plan_leaves_nothing_to_do(evaluated, name):
    result = evaluated[name]
    source = read_source(result)
    owner = build_owner("lake", source.bucket, source.prefix)
    addresses = Addresses.of(source, "acme-data")
    desired = {item.kind: item for item in build_desired(source, owner, addresses, Agents("s", "p"))}
    # The settings of a new subscription, which are written where the module leaves them out.
    settings = {key: value.settle("") for key, value in desired["subscription"].attributes.items()}
    assert settings["message_retention_duration"] == str(result["retention"])
    assert sorted(WANTED_EVENTS) == result["events"]
    rule = NotificationRule("1", addresses.topic, frozenset(result["events"]), source.prefix)
    found = Observed("subscription", "", addresses.subscription, settings)
    state = SourceState(addresses, (rule,), (found,))
    given = find_given(source, owner, state, adopt=False)
    assert given is not None
    plan = plan_with_given(source, owner, state, given, prune=False)
    assert (plan.problems, plan.warnings) == ((), ())
    assert {action.change for action in plan.actions} == {"none"}


@pytest.mark.parametrize(
    "variables",
    [
        {"name": "9events"},
        {"ack_deadline": 5},
        {"max_delivery_attempts": 4},
        {"labels": {"headwater_owner": "x"}},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_values_that_cannot_work_are_rejected(tmp_path, variables):
    with pytest.raises(AssertionError, match="Invalid value for variable"):
        evaluate(tmp_path, complete(variables))


def test_format_is_that_of_terraform():
    done = run_terraform("fmt", "-check", "-diff", "-recursive", folder=MODULE)
    assert done.returncode == 0, done.stdout


def test_every_variable_is_used_and_documented_with_every_output():
    texts = {path.name: path.read_text("utf-8") for path in MODULE.glob("*.tf")}
    variables = re.findall(r'^variable "(\w+)"', texts["variables.tf"], re.MULTILINE)
    outputs = re.findall(r'^output "(\w+)"', texts["outputs.tf"], re.MULTILINE)
    others = "\n".join(text for name, text in texts.items() if name != "variables.tf")
    assert [name for name in variables if f"var.{name}" not in others] == []
    readme = (MODULE / "README.md").read_text("utf-8")
    assert [name for name in (*variables, *outputs) if f"`{name}`" not in readme] == []
    example = PAGE.read_text("utf-8")
    assert set(re.findall(r"^  (\w+) +=", example, re.MULTILINE)) <= {*variables, "source", "value"}
    assert set(re.findall(r"module\.headwater\.(\w+)", example)) <= set(outputs)


def test_subscription_has_the_settings_of_up():
    """Terraform's names of what `up` writes, and the roles that it grants."""
    text = (MODULE / "pubsub.tf").read_text("utf-8")
    subscription = text.partition('"google_pubsub_subscription" "subscription"')[2].partition("\nresource")[0]
    for line in ("ack_deadline_seconds", "message_retention_duration", "dead_letter_topic", 'ttl = ""'):
        assert line in subscription
    source = GcsSourceConfig.model_validate({"type": "gcs", "bucket": "acme"})
    owner = build_owner("lake", "acme")
    desired = build_desired(source, owner, Addresses.of(source, "p"), Agents("storage", "pubsub"))
    wanted = sorted(
        (role, value.settle(""))
        for item in desired
        for role, value in item.attributes.items()
        if role.startswith("roles/")
    )
    grants = re.findall(r'role +  *= "(roles/[\w.]+)"\n *member +  *= local\.(\w+)_agent', text)
    assert sorted((role, f"serviceAccount:{agent}") for role, agent in grants) == wanted
