"""The manifests agree with the product: roles, tables, ports, probes and times."""

import subprocess

import pytest

from headwater.app.roles import choose_roles
from headwater.cli.run import RoleName
from headwater.config.environment import CONFIG_VARIABLE
from headwater.config.listen_address import parse_listen_address
from headwater.config.loader import load_settings
from headwater.observability.endpoints import PATHS
from tests.fixtures.deploy import (
    DEPLOY,
    find_container,
    find_program,
    find_schema_problems,
    parse_documents,
    read_roles,
    read_yaml,
)

FOLDER = DEPLOY / "kubernetes"
(KUSTOMIZATION,) = read_yaml(FOLDER / "kustomization.yaml")
RESOURCES = [document for name in KUSTOMIZATION["resources"] for document in read_yaml(FOLDER / name)]
DEPLOYMENTS = {item["metadata"]["name"]: item for item in RESOURCES if item["kind"] == "Deployment"}
COMPONENTS = sorted(FOLDER.glob("components/*"))


@pytest.fixture(scope="module")
def settings():
    return load_settings(FOLDER / "headwater.yaml", {})


@pytest.fixture(params=DEPLOYMENTS)
def deployment(request):
    return DEPLOYMENTS[request.param]


def test_kustomization_lists_every_file():
    listed = {*KUSTOMIZATION["resources"], *KUSTOMIZATION["configMapGenerator"][0]["files"]}
    assert {path.name for path in FOLDER.glob("*.yaml")} == {*listed, "kustomization.yaml"}
    for component in COMPONENTS:
        assert f"components/{component.name}" in (FOLDER / "kustomization.yaml").read_text("utf-8")


def test_schemas_of_kubernetes_accept_them():
    assert find_schema_problems(RESOURCES) == []


def test_each_table_is_ingested_by_one_deployment(settings):
    ingested: list[str] = []
    for item in DEPLOYMENTS.values():
        only, tables = read_roles(find_container(item)["args"])
        roles = choose_roles(settings, [RoleName(name).value for name in only], tables)
        ingested += roles.fed
    assert sorted(ingested) == sorted(settings.tables)


def test_capture_updates_without_a_pause_and_others_wait_for_the_lease(deployment):
    only, _ = read_roles(find_container(deployment)["args"])
    spec = deployment["spec"]
    if only == ["capture"]:
        assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    else:
        assert (spec["strategy"]["type"], spec["replicas"]) == ("Recreate", 1)


def test_kubernetes_waits_longer_than_a_stop_takes(deployment, settings):
    grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= settings.stop_timeout + 10


def test_probes_and_port_are_those_of_a_run(deployment, settings):
    container = find_container(deployment)
    (port,) = container["ports"]
    assert port["containerPort"] == parse_listen_address(settings.observability.listen).port
    paths = {}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == port["name"]
        paths[probe] = container[probe]["httpGet"]["path"]
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert set(paths.values()) < set(PATHS)


def test_pods_have_no_privileges_and_write_to_tmp_only(deployment):
    pod, container = deployment["spec"]["template"]["spec"], find_container(deployment)
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["/tmp"]


def test_configuration_is_mounted_where_headwater_reads_it(deployment):
    pod, container = deployment["spec"]["template"]["spec"], find_container(deployment)
    (volume,) = (item for item in pod["volumes"] if "configMap" in item)
    (generated,) = KUSTOMIZATION["configMapGenerator"]
    assert volume["configMap"]["name"] == generated["name"]
    (mount,) = (item for item in container["volumeMounts"] if item["name"] == volume["name"])
    environ = {item["name"]: item["value"] for item in container["env"]}
    assert environ[CONFIG_VARIABLE] == f"{mount['mountPath']}/{generated['files'][0]}"


def test_pods_differ_only_in_arguments_and_labels():
    def strip(item):
        pod = dict(item["spec"]["template"]["spec"])
        pod.pop("topologySpreadConstraints", None)
        container = {key: value for key, value in find_container(item).items() if key != "args"}
        return {**pod, "containers": [container]}

    first, *others = map(strip, DEPLOYMENTS.values())
    assert all(other == first for other in others)


def test_selectors_match_their_own_pods_only(deployment):
    spec = deployment["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert deployment["metadata"]["name"].endswith(
        spec["selector"]["matchLabels"]["app.kubernetes.io/component"]
    )


def test_budgets_are_of_deployments_with_several_pods():
    for budget in (item for item in RESOURCES if item["kind"] == "PodDisruptionBudget"):
        selector = budget["spec"]["selector"]
        (found,) = (item for item in DEPLOYMENTS.values() if item["spec"]["selector"] == selector)
        assert found["spec"]["replicas"] > budget["spec"]["maxUnavailable"]


def test_monitor_selects_pods_and_port():
    (monitor,) = read_yaml(FOLDER / "components/pod-monitor/pod-monitor.yaml")
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["path"] in PATHS
    for item in DEPLOYMENTS.values():
        assert wanted <= item["spec"]["template"]["metadata"]["labels"].items()
        assert endpoint["port"] in [port["name"] for port in find_container(item)["ports"]]


@pytest.mark.parametrize("with_components", [False, True])
def test_kustomize_builds_them(tmp_path, with_components):
    kustomize = find_program("kustomize", "make deploy-tools builds it with Go")
    overlay = tmp_path / "kustomization.yaml"
    components = [path.name for path in COMPONENTS] if with_components else []
    # kustomize takes no absolute paths.
    (tmp_path / "base").symlink_to(FOLDER)
    lines = ["apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", "resources: [base]"]
    lines += ["components:", *(f"  - base/components/{name}" for name in components)] if components else []
    overlay.write_text("\n".join(lines))
    done = subprocess.run(
        [kustomize, "build", "--load-restrictor", "LoadRestrictionsNone", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    documents = parse_documents(done.stdout)
    assert find_schema_problems(documents) == []
    deployments = [item for item in documents if item["kind"] == "Deployment"]
    standbys = [item for item in deployments if item["spec"]["replicas"] == 2]
    assert len(standbys) == (len(deployments) if with_components else 1)
    (config,) = (item for item in documents if item["kind"] == "ConfigMap")
    for item in deployments:
        volumes = item["spec"]["template"]["spec"]["volumes"]
        assert config["metadata"]["name"] in str(volumes), "the digest of the content is in the name"
