"""The chart renders what headwater accepts, and rejects what it would not."""

import json
import re
import subprocess

import pytest

from headwater import __version__
from headwater.app.roles import choose_roles
from headwater.cli.run import RoleName
from headwater.config.listen_address import parse_listen_address
from headwater.config.loader import parse_settings
from headwater.observability.endpoints import PATHS
from scripts.versions import to_semver
from tests.fixtures.deploy import (
    DEPLOY,
    KUBERNETES,
    find_container,
    find_program,
    find_schema_problems,
    parse_documents,
    read_roles,
    read_yaml,
    run_tools,
)

CHART = DEPLOY / "helm/headwater"
CONFIG = read_yaml(DEPLOY / "kubernetes/headwater.yaml")[0]
ALONE = {key: value for key, value in CONFIG.items() if key != "lock"}
ALONE["tables"] = {"orders": CONFIG["tables"]["orders"]}
SPLIT = {
    "config": CONFIG,
    "capture": {"replicas": 3},
    "tables": [
        {"name": "orders", "tables": ["orders"], "standby": True},
        {"name": "clicks", "tables": ["clicks"], "resources": {"limits": {"memory": "8Gi"}}},
    ],
    "services": {"enabled": True, "tables": ["clicks"]},
}
WITH_ALL = {
    **SPLIT,
    "config": {
        **CONFIG,
        "search": {"table": "orders", "text": ["note"]},
        "observability": {"log_file": "/tmp/headwater.log", "log_max_bytes": 67_108_864},
    },
    "index": {"enabled": True, "standby": True},
    "serve": {"enabled": True, "replicas": 2},
    "podMonitor": {"enabled": True, "job": "shop", "labels": {"release": "prometheus"}},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {"matchLabels": {"team": "data"}}}]},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/h"}},
    "envFrom": [{"secretRef": {"name": "headwater"}}],
    "env": [{"name": "AWS_REGION", "value": "eu-west-1"}],
    "imagePullSecrets": [{"name": "registry"}],
    "podLabels": {"team": "data"},
    "podAnnotations": {"note": "x"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "data", "operator": "Exists"}],
    "priorityClassName": "high",
    "metricsHost": "[::]",
    "image": {"digest": f"sha256:{'0' * 64}"},
}
ACCEPTED = {
    "split": SPLIT,
    "one process": {"config": ALONE, "split": False},
    "one process with a standby": {"config": CONFIG, "split": False, "run": {"standby": True}},
    "all tables in one": {"config": CONFIG},
    "own ConfigMap": {"existingConfigMap": "mine"},
    "with all": WITH_ALL,
}
REJECTED = {
    "nothing": ({}, "set config"),
    "both": ({"config": CONFIG, "existingConfigMap": "mine"}, "either config or existingConfigMap"),
    "no lock": ({"config": ALONE}, "need a lock"),
    "unknown table": ({"config": CONFIG, "tables": [{"name": "a", "tables": ["typo"]}]}, "typo is not a"),
    "unknown table of services": (
        {"config": CONFIG, "services": {"enabled": True, "tables": ["typo"]}},
        "services.tables: typo",
    ),
    "unknown value": ({"config": CONFIG, "replicas": 2}, "replicas"),
    "name of no Deployment": ({"config": CONFIG, "tables": [{"name": "Orders"}]}, "Orders"),
    "no time to stop": ({"config": CONFIG, "stopMarginSeconds": 0}, "minimum of 5"),
}


def render(*cases):
    return run_tools("render", {"chart": str(CHART), "cases": [{"values": values} for values in cases]})


@pytest.fixture(scope="module")
def rendered():
    """The documents of each accepted case, without NOTES.txt, and the notes."""
    found = {}
    for name, result in zip(ACCEPTED, render(*ACCEPTED.values()), strict=True):
        assert result["error"] == "", name
        texts = {path: text for path, text in result["files"].items() if path.endswith(".yaml")}
        documents = [document for text in texts.values() for document in parse_documents(text)]
        found[name] = (documents, result["files"]["templates/NOTES.txt"])
    return found


def find_deployments(documents):
    return {
        item["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"]: item
        for item in documents
        if item["kind"] == "Deployment"
    }


def list_kinds(documents, kind):
    return [item for item in documents if item["kind"] == kind]


def test_version_is_that_of_headwater():
    (chart,) = read_yaml(CHART / "Chart.yaml")
    # Helm requires SemVer's form of a release candidate.
    assert (chart["appVersion"], chart["version"]) == (__version__, to_semver(__version__))


@pytest.mark.parametrize("name", ACCEPTED)
def test_schemas_of_kubernetes_accept_the_manifests(rendered, name):
    documents, _ = rendered[name]
    assert find_schema_problems(documents) == []
    names = [(item["kind"], item["metadata"]["name"]) for item in documents]
    assert len(names) == len(set(names))
    assert all(len(item) <= 63 for _, item in names)


def test_values_that_cannot_work_are_rejected():
    results = render(*(values for values, _ in REJECTED.values()))
    for (name, (_, reason)), result in zip(REJECTED.items(), results, strict=True):
        assert reason in result["error"], name


@pytest.mark.parametrize("name", [name for name in ACCEPTED if name != "own ConfigMap"])
def test_configuration_in_the_map_is_valid_and_the_same(rendered, name):
    documents, _ = rendered[name]
    (config,) = list_kinds(documents, "ConfigMap")
    text = config["data"]["headwater.yaml"]
    assert parse_documents(text) == [ACCEPTED[name]["config"]]
    deployment = next(iter(find_deployments(documents).values()))
    container = find_container(deployment)
    environ = {item["name"]: item["value"] for item in container["env"] if "HEADWATER" in item["name"]}
    settings = parse_settings(text, CHART, environ, installed=lambda extra: True)
    assert settings.observability.listen is not None
    address = parse_listen_address(settings.observability.listen)
    assert address.port == container["ports"][0]["containerPort"]
    grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= settings.stop_timeout + 10


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        (
            "split",
            {
                "capture": (["capture"], []),
                "tables-orders": (["tables"], ["orders"]),
                "tables-clicks": (["tables"], ["clicks"]),
                "services": (["services"], ["clicks"]),
            },
        ),
        ("one process", {"run": ([], [])}),
        ("all tables in one", {"capture": (["capture"], []), "tables-all": (["tables"], [])}),
    ],
)
def test_there_is_one_deployment_for_each_part(rendered, name, roles):
    documents, _ = rendered[name]
    settings = parse_settings(json.dumps(ACCEPTED[name]["config"]), CHART, {})
    found = {
        part: read_roles(find_container(item)["args"]) for part, item in find_deployments(documents).items()
    }
    assert found == roles
    for only, tables in found.values():
        choose_roles(settings, [RoleName(role).value for role in only], tables)


@pytest.mark.parametrize("name", ACCEPTED)
def test_update_and_readiness_suit_the_lease(rendered, name):
    documents, _ = rendered[name]
    for part, item in find_deployments(documents).items():
        spec, container = item["spec"], find_container(item)
        is_shared = part in ("capture", "serve")
        is_standby = not is_shared and spec["replicas"] == 2
        assert spec["strategy"]["type"] == ("RollingUpdate" if is_shared else "Recreate")
        ready = container["readinessProbe"]["httpGet"]["path"]
        assert ready == ("/healthz" if is_standby else "/readyz")
        assert container["livenessProbe"]["httpGet"]["path"] in PATHS
        assert spec["replicas"] <= 2 or is_shared


def test_budgets_are_of_parts_with_several_pods(rendered):
    documents, _ = rendered["with all"]
    parts = {
        item["metadata"]["labels"]["app.kubernetes.io/component"]
        for item in list_kinds(documents, "PodDisruptionBudget")
    }
    several = {part for part, item in find_deployments(documents).items() if item["spec"]["replicas"] > 1}
    assert parts == several == {"capture", "tables-orders", "index", "serve"}
    assert list_kinds(rendered["one process"][0], "PodDisruptionBudget") == []


def test_pods_are_those_of_the_plain_manifests(rendered):
    documents, _ = rendered["split"]
    of_chart = find_deployments(documents)["capture"]["spec"]["template"]["spec"]
    (plain,) = read_yaml(DEPLOY / "kubernetes/capture.yaml")
    of_plain = plain["spec"]["template"]["spec"]
    for key in ("securityContext", "automountServiceAccountToken", "terminationGracePeriodSeconds"):
        assert of_chart[key] == of_plain[key]
    for key in (
        *("startupProbe", "livenessProbe", "readinessProbe", "securityContext"),
        *("resources", "volumeMounts", "ports", "args"),
    ):
        assert of_chart["containers"][0][key] == of_plain["containers"][0][key], key


def test_options_reach_every_pod(rendered):
    documents, _ = rendered["with all"]
    pods = [item["spec"]["template"] for item in find_deployments(documents).values()]
    assert len(pods) == 6
    for pod in pods:
        spec, container = pod["spec"], pod["spec"]["containers"][0]
        assert pod["metadata"]["labels"]["team"] == "data"
        assert spec["nodeSelector"] == {"disk": "ssd"}
        assert spec["priorityClassName"] == "high"
        assert container["image"].endswith(f"@sha256:{'0' * 64}")
        assert container["envFrom"] == WITH_ALL["envFrom"]
        assert WITH_ALL["env"][0] in container["env"]


def test_monitor_and_network_policy_name_ports_of_the_pods(rendered):
    documents, _ = rendered["with all"]
    ports = {
        port["name"]
        for item in find_deployments(documents).values()
        for port in find_container(item)["ports"]
    }
    (monitor,) = list_kinds(documents, "PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("metrics", "/metrics")
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": "shop"}]
    (policy,) = list_kinds(documents, "NetworkPolicy")
    assert {port["port"] for port in policy["spec"]["ingress"][0]["ports"]} == ports == {"metrics", "http"}


def test_notes_name_tables_without_a_process(rendered):
    assert "WARNING" not in rendered["split"][1]
    (result,) = render({"config": CONFIG, "tables": [{"name": "a", "tables": ["orders"]}]})
    assert "no process of this release ingests table clicks" in result["files"]["templates/NOTES.txt"]


def test_every_value_is_described():
    (values,) = read_yaml(CHART / "values.yaml")
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    assert values.keys() == schema["properties"].keys() - {"global"}
    page = (DEPLOY.parent / "docs/how-to/deploy/kubernetes.md").read_text("utf-8")
    missing = [name for name in values if f"`{name}`" not in page]
    assert missing == []


def test_documented_values_render():
    page = (DEPLOY.parent / "docs/how-to/deploy/kubernetes.md").read_text("utf-8")
    blocks = re.findall(r"```yml\n(.*?)```", page, re.DOTALL)
    values = [document for block in blocks for document in parse_documents(block)]
    assert values
    for result, given in zip(render(*values), values, strict=True):
        assert result["error"] == ""
        assert "WARNING" not in result["files"]["templates/NOTES.txt"]
        parse_settings(json.dumps(given["config"]), CHART, {})


@pytest.mark.parametrize("name", ACCEPTED)
def test_helm_renders_the_same(rendered, tmp_path, name):
    helm = find_program("helm", "make deploy-tools builds it with Go")
    values = tmp_path / "values.json"
    values.write_text(json.dumps(ACCEPTED[name]))
    linted = run_helm(helm, "lint", str(CHART), "--strict", "--values", str(values))
    assert linted.returncode == 0, linted.stdout + linted.stderr
    done = run_helm(helm, "template", "shop", str(CHART), "--namespace", "data", "--values", str(values))
    assert done.returncode == 0, done.stderr
    documents, _ = rendered[name]
    key = json.dumps
    assert sorted(map(key, parse_documents(done.stdout))) == sorted(map(key, documents))


def test_helm_rejects_the_same(tmp_path):
    helm = find_program("helm", "make deploy-tools builds it with Go")
    for name, (values, reason) in REJECTED.items():
        path = tmp_path / "values.json"
        path.write_text(json.dumps(values))
        done = run_helm(helm, "template", "shop", str(CHART), "--values", str(path))
        assert done.returncode != 0, name
        wanted = re.escape(reason).replace("minimum\\ of\\ 5", "(minimum of 5|minimum: got 0, want 5)")
        assert re.search(wanted, done.stderr), done.stderr


def run_helm(helm, *words):
    # Without a cluster, and built without Helm's own Makefile, it assumes Kubernetes 1.20.
    command = [helm, *words, "--kube-version", f"{KUBERNETES[1]}.0"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
