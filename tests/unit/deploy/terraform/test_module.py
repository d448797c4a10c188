"""The Terraform module makes what `headwater up` makes.

Terraform evaluates its pure files without a provider.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from ruamel.yaml import YAML

from headwater.config.settings import Settings
from headwater.config.source import S3SourceConfig
from headwater.sources.planning.actions import Observed
from headwater.sources.s3.judging.notification import Route
from headwater.sources.s3.planning.desired import Addresses, Site, build_desired, build_event_pattern
from headwater.sources.s3.planning.key_policy import build_key_statement, list_services
from headwater.sources.s3.planning.notification_rules import WANTED_KINDS, build_rule, fold_kinds
from headwater.sources.s3.planning.ownership import build_owner
from headwater.sources.s3.planning.roles import build_role_policies
from headwater.sources.s3.planning.source_plan import SourceState, plan_source
from headwater.sources.s3.resource_names import name_queue_of, name_resources, name_rule
from tests.fixtures.deploy import DEPLOY, run_tools

MODULE = DEPLOY / "terraform"
PURE = ("variables.tf", "names.tf", "policies.tf", "trust.tf", "source.tf")
FILES = sorted(MODULE.rglob("*.tf"))
SITE = Site("123456789012", "eu-west-1")
LAKE = "s3a://acme-lake/bronze"
ACCOUNT_URL = "https://sqs.eu-west-1.amazonaws.com/123456789012"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234"
HARNESS = """
locals {
  account   = "123456789012"
  partition = "aws"
  region    = "eu-west-1"
  queue_url = "https://sqs.eu-west-1.amazonaws.com/123456789012/${local.name}"
}

output "all" {
  value = jsonencode({
    source           = yamlencode(local.source)
    queue            = local.queue_policy
    dead_letter      = local.dead_letter_policy
    topic            = local.topic_policy
    roles            = local.role_policies
    trust            = local.trust
    key              = local.key_statement
    pattern          = local.event_pattern
    events           = local.events
    filter_prefix    = local.filter_prefix
    attributes       = local.queue_attributes
    names            = [local.name, local.dead_letter_name, local.rule_name]
    role_name        = local.role_name
    trusted_roles    = local.trusted_roles
    attachments      = local.attachments
  })
}
"""
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "prefix": {"prefix": "in/2026+ü &/"},
    "dots": {"bucket": "acme.landing.example"},
    "long": {"bucket": "a" * 63, "prefix": "b" * 40},
    "long name": {"name": "n" * 75},
    "name": {"name": "landing-events"},
    "sns": {"notifications": "sns", "kms_key": KEY},
    "eventbridge": {"notifications": "eventbridge", "prefix": "in/"},
    "key": {"kms_key": KEY, "visibility_timeout": 120, "max_receive_count": 5},
    "other account": {"bucket_owner": "210987654321"},
    "tag": {"clean_source": "tag", "prefix": "in/"},
    "delete": {"clean_source": "delete"},
    "move": {"clean_source": "move", "clean_source_move_to": "s3://acme-archive/old//"},
    "move to a bucket": {"clean_source": "move", "clean_source_move_to": "s3://acme-archive"},
    "whole bucket": {"lake": "s3://acme-lake"},
    "lake elsewhere": {"lake": "hdfs://nameservice/lake"},
}


def find_terraform():
    terraform = shutil.which("terraform")
    if terraform is None:
        pytest.skip("terraform is not installed")
    return terraform


def run_terraform(*words, folder):
    environ = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}
    return subprocess.run(
        [find_terraform(), *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def evaluate(folder, variables):
    """Return what the pure files of the module compute; they need no provider."""
    for name in PURE:
        shutil.copy(MODULE / name, folder)
    (folder / "harness.tf").write_text(HARNESS)
    (folder / "terraform.tfvars.json").write_text(json.dumps(variables))
    done = run_terraform("apply", "-auto-approve", "-no-color", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(run_terraform("output", "-raw", "all", folder=folder).stdout)


def complete(variables):
    return {"bucket": "acme-landing", "lake": LAKE, **variables}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    return {name: evaluate(tmp_path_factory.mktemp("tf"), complete(CASES[name])) for name in CASES}


def read_settings(result, lake=LAKE):
    """Settings with the lines that the module prints."""
    text = result["source"] + f"\nlake: {lake}\ntables: {{orders: {{path: '*.json'}}}}\n"
    return Settings.model_validate(YAML(typ="safe").load(text))


def read_source(name, result):
    """The same source as `up` sees it: without a queue of the user's, but with the names of the module."""
    source = read_settings(result).source
    queue = source.queue.model_copy(update={"url": None})
    variables = CASES[name]
    queue = queue.model_copy(update={"visibility_timeout": variables.get("visibility_timeout", 30)})
    count = variables.get("max_receive_count", 10)
    resources = source.resources.model_copy(update={"max_receive_count": count})
    return source.model_copy(update={"queue": queue, "resources": resources})


@pytest.mark.parametrize("name", CASES)
def test_names_are_those_that_headwater_derives(evaluated, name):
    result = evaluated[name]
    source = read_source(name, result)
    queue = name_queue_of(source)
    assert result["names"] == [queue, f"{queue}-dead", name_rule(name_resources(source))]
    assert max(len(f"{result['role_name']}-{role}") for role in ("ingest", "serve")) <= 64


@pytest.mark.parametrize("name", CASES)
def test_policies_of_roles_are_those_of_plan(evaluated, name):
    result, lake = evaluated[name], CASES[name].get("lake", LAKE)
    source = read_source(name, result)
    wanted = build_role_policies(source, lake, SITE, Addresses.of(source, SITE))
    assert result["roles"] == {role: wanted[role] for role in ("ingest", "serve")}


@pytest.mark.parametrize("name", CASES)
def test_queue_and_topic_are_those_of_up(evaluated, name):
    result = evaluated[name]
    source = read_source(name, result)
    owner = build_owner(LAKE, source.bucket, source.prefix)
    desired = {item.kind: item for item in build_desired(source, owner, SITE, Addresses.of(source, SITE))}
    # Their classes differ by attribute.
    queue: Mapping[str, Any] = desired["queue"].attributes
    assert result["attributes"] == {
        "message_retention_seconds": int(queue["MessageRetentionPeriod"].value),
        "max_message_size": queue["MaximumMessageSize"].preferred,
        "visibility_timeout_seconds": int(queue["VisibilityTimeout"].value),
        "delay_seconds": int(queue["DelaySeconds"].value),
    }
    assert result["queue"] == json.loads(queue["Policy"].settle(""))
    assert result["dead_letter"] == json.loads(desired["dead_letter_queue"].attributes["Policy"].settle(""))
    if "topic" in desired:
        assert result["topic"] == json.loads(desired["topic"].attributes["Policy"].settle(""))
    assert result["pattern"] == json.loads(build_event_pattern(source))


@pytest.mark.parametrize("name", CASES)
def test_rule_of_the_bucket_is_that_of_up(evaluated, name):
    result = evaluated[name]
    source = read_source(name, result)
    rule: Mapping[str, Any] = build_rule(
        "headwater", Route("queue", "arn", fold_kinds(WANTED_KINDS), source.prefix)
    )
    assert result["events"] == rule["Events"]
    filters = rule.get("Filter", {"Key": {"FilterRules": [{"Value": ""}]}})["Key"]["FilterRules"]
    assert [result["filter_prefix"]] == [item["Value"] for item in filters]


@pytest.mark.parametrize("name", CASES)
def test_statement_for_the_key_is_the_one_that_plan_asks_for(evaluated, name):
    source = read_source(name, evaluated[name])
    assert evaluated[name]["key"] == build_key_statement(list_services(source), SITE.account)


@pytest.mark.parametrize("name", CASES)
def test_printed_lines_are_a_valid_source_with_the_queue(evaluated, name):
    source = read_settings(evaluated[name]).source
    assert source.queue.url == f"{ACCOUNT_URL}/{evaluated[name]['names'][0]}"
    # The module's `name` is that of the resources.
    known = type(source).model_fields.keys() - {"name"}
    given = {key: value for key, value in complete(CASES[name]).items() if key in known}
    assert {key: getattr(source, key) for key in given} == given


@pytest.mark.parametrize("name", [name for name in CASES if "notifications" not in CASES[name]])
def test_plan_leaves_nothing_to_do(evaluated, name):
    result = evaluated[name]
    source = read_settings(result).source
    addresses = Addresses.of(source, SITE)
    queue = Observed("queue", "", addresses.queue, {"Policy": json.dumps(result["queue"])})
    route = Route("queue", addresses.queue, frozenset(result["events"]), source.prefix)
    rules = {"QueueConfigurations": [build_rule("headwater", route)]}
    owner = build_owner(LAKE, source.bucket, source.prefix)
    plan = plan_source(
        source, owner, SourceState(SITE, addresses, SITE.region, rules, (queue,)), False, False
    )
    assert (plan.problems, plan.warnings) == ((), ())
    assert {action.change for action in plan.actions} == {"none"}


def test_trust_names_services_and_service_accounts(tmp_path):
    provider = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC"
    variables = {
        "trusted_services": ["ec2.amazonaws.com"],
        "oidc_provider_arn": provider,
        "service_accounts": {"ingest": ["data:headwater"]},
        "additional_policy_arns": {"ingest": ["arn:aws:iam::123456789012:policy/glue"]},
    }
    result = evaluate(tmp_path, complete(variables))
    service, account = result["trust"]["ingest"]["Statement"]
    assert service["Principal"] == {"Service": ["ec2.amazonaws.com"]}
    assert account["Principal"] == {"Federated": provider}
    assert account["Condition"]["StringEquals"] == {
        "oidc.eks.eu-west-1.amazonaws.com/id/ABC:aud": "sts.amazonaws.com",
        "oidc.eks.eu-west-1.amazonaws.com/id/ABC:sub": ["system:serviceaccount:data:headwater"],
    }
    assert result["trust"]["serve"]["Statement"] == [service]
    assert result["trusted_roles"] == ["ingest", "serve"]
    assert [item["role"] for item in result["attachments"].values()] == ["ingest"]


def test_roles_without_a_principal_are_not_created(evaluated):
    assert evaluated["plain"]["trusted_roles"] == []


@pytest.mark.parametrize(
    "variables",
    [
        {"notifications": "kafka"},
        {"kms_key": "alias/landing"},
        {"max_receive_count": 1},
        {"tags": {"headwater:owner": "x"}},
        {"service_accounts": {"admin": ["a:b"]}},
        {"name": "a.b"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_values_that_cannot_work_are_rejected(tmp_path, variables):
    with pytest.raises(AssertionError, match="Invalid value for variable"):
        evaluate(tmp_path, complete(variables))


def test_format_is_that_of_terraform():
    done = run_terraform("fmt", "-check", "-diff", "-recursive", folder=MODULE)
    assert done.returncode == 0, done.stdout


def test_files_parse_and_variables_and_outputs_are_described_and_used():
    parsed = run_tools("parse", {"files": [str(path) for path in FILES]})
    assert parsed.keys() == {str(path) for path in FILES}
    texts = {path.name: path.read_text("utf-8") for path in MODULE.glob("*.tf")}
    for kind in ("variable", "output"):
        for block in parsed[str(MODULE / f"{kind}s.tf")][kind]:
            ((name, body),) = block.items()
            assert body["description"], name
    names = re.findall(r'^variable "(\w+)"', texts["variables.tf"], re.MULTILINE)
    others = "\n".join(text for name, text in texts.items() if name != "variables.tf")
    assert [name for name in names if f"var.{name}" not in others] == []


def test_documented_modules_parse_and_name_variables_and_outputs(tmp_path):
    pages = [DEPLOY.parent / "docs/how-to/deploy/terraform.md", MODULE / "README.md"]
    blocks = re.findall(r"```hcl\n(.*?)```", "\n".join(page.read_text("utf-8") for page in pages), re.DOTALL)
    paths = [tmp_path / f"{number}.tf" for number in range(len(blocks))]
    for path, block in zip(paths, blocks, strict=True):
        path.write_text(block)
    parsed = run_tools("parse", {"files": [str(path) for path in paths]})
    variables, outputs = (
        re.findall(rf'^{kind} "(\w+)"', (MODULE / f"{kind}s.tf").read_text("utf-8"), re.MULTILINE)
        for kind in ("variable", "output")
    )
    modules = [body for file in parsed.values() for item in file.get("module", []) for body in item.values()]
    named = {key for body in modules for key in body if not key.startswith("__")}
    assert {"bucket", "lake", "source"} <= named <= {*variables, "source"}
    assert set(re.findall(r"module\.headwater\.(\w+)", "\n".join(blocks))) <= set(outputs)


def test_actions_are_spelled_as_in_plan():
    """Without Terraform: each action of the ingest and serve policies is in the file, and no other."""
    spelled = set(re.findall(r'"((?:sqs|s3|kms):[A-Z]\w+)"', (MODULE / "policies.tf").read_text("utf-8")))
    wanted = {"sqs:SendMessage", "kms:GenerateDataKey"}
    for action in ("off", "tag", "delete", "move"):
        move = {"clean_source_move_to": "s3://acme-archive/old/"} if action == "move" else {}
        source = {"type": "s3", "bucket": "b", "clean_source": action, "resources": {"kms_key": KEY}, **move}
        settings = Settings.model_validate(
            {"source": source, "lake": LAKE, "tables": {"orders": {"path": "*.json"}}}
        )
        assert isinstance(settings.sources[0], S3SourceConfig)
        addresses = Addresses.of(settings.sources[0], SITE)
        policies: Mapping[Any, Any] = build_role_policies(settings.sources[0], LAKE, SITE, addresses)
        for role in ("ingest", "serve"):
            wanted |= {name for item in policies[role]["Statement"] for name in item["Action"]}
    assert spelled == wanted


def test_example_uses_the_module_and_its_outputs():
    text = (MODULE / "examples/kubernetes/main.tf").read_text("utf-8")
    outputs = re.findall(r'^output "(\w+)"', (MODULE / "outputs.tf").read_text("utf-8"), re.MULTILINE)
    variables = re.findall(r'^variable "(\w+)"', (MODULE / "variables.tf").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"module\.headwater\.(\w+)", text)) <= set(outputs)
    body = text.split('module "headwater" {')[1].split("\n}\n")[0]
    assert set(re.findall(r"^  (\w+) +=", body, re.MULTILINE)) - {"source"} <= set(variables)


def test_every_variable_and_output_is_in_the_readme():
    page = (MODULE / "README.md").read_text("utf-8")
    for name in ("variables.tf", "outputs.tf"):
        declared = re.findall(
            r'^(?:variable|output) "(\w+)"', (MODULE / name).read_text("utf-8"), re.MULTILINE
        )
        assert [item for item in declared if f"`{item}`" not in page] == []
