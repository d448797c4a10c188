"""Files for contributors that no code of headwater reads: workflows, forms, containers and hooks."""

import json
import re
import subprocess

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tests.fixtures.deploy import ROOT, find_program

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


@pytest.mark.parametrize(
    ("schema", "files"),
    [("vendor.github-workflows", WORKFLOWS), ("vendor.dependabot", [ROOT / ".github/dependabot.yml"])],
)
def test_schemas_accept_workflows_and_updates(schema, files):
    check = find_program("check-jsonschema", "make check-deploy")
    command = [check, "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert files


def find(pattern, text):
    """Return the first group of the only match."""
    (found,) = re.findall(pattern, text, re.MULTILINE)
    return found


def list_runs(workflow):
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_workflows_call_what_exists():
    runs = [run for workflow in WORKFLOWS for run in list_runs(workflow)]
    assert ".ci/run" in runs
    targets = [match for run in runs for match in re.findall(r"^make (\S+)", run, re.MULTILINE)]
    assert targets == ["dist"]
    assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in targets)


def test_workflows_have_time_limits_and_no_rights_by_default():
    for workflow in WORKFLOWS:
        found = yaml.safe_load(workflow.read_text("utf-8"))
        assert found["permissions"] == {"contents": "read"}
        assert all(job["timeout-minutes"] for job in found["jobs"].values())


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_issue_forms_have_what_github_requires(form):
    found = yaml.safe_load(form.read_text("utf-8"))
    assert found["name"]
    assert found["description"]
    ids = [part["id"] for part in found["body"]]
    assert len(ids) == len(set(ids))
    assert all(part["type"] == "textarea" and part["attributes"]["label"] for part in found["body"])
    assert any(part.get("validations", {}).get("required") for part in found["body"])


def test_devcontainer_has_a_supported_python():
    found = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    version = find(r"python:(\d+\.\d+)-", found["image"])
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert version in SpecifierSet(find(r'^requires-python = "(.*)"', project))
    assert found["postCreateCommand"] == "make setup"


def test_hooks_are_the_checks_of_make():
    found = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    (local,) = found["repos"]
    checks = find(r"^CHECKS := (.*)", MAKEFILE).split()
    assert [f"check-{hook['id']}" for hook in local["hooks"]] == checks
    for hook in local["hooks"]:
        program, *arguments = hook["entry"].split()
        recipe = find(rf"^check-{hook['id']}:\n\t(.*)", MAKEFILE)
        assert recipe.startswith(program.replace(".venv/bin", "$(VENV)"))
        assert [one for one in arguments if one.endswith(".py")] == re.findall(r"scripts/\S+", recipe)
