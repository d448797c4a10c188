"""The page of orchestrators shows the files of examples/, and these agree with the product."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from headwater.lake.prerequisites.packages import HUDI_BUNDLE
from headwater.lake.prerequisites.spark_settings import NEEDED_SETTINGS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/how-to/orchestrators.md").read_text("utf-8")
SHOWN = dict(re.findall(r"^`(examples/\S+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
SUFFIXES = {".py", ".sql", ".yml"}
EXAMPLES = [str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*") if path.suffix in SUFFIXES]


@pytest.mark.parametrize("name", EXAMPLES)
def test_page_shows_each_example(name):
    assert SHOWN[name] == (ROOT / name).read_text("utf-8")


def test_dbt_reads_with_the_bundle_and_the_settings_of_headwater():
    profile = YAML(typ="safe").load(ROOT / "examples/dbt/profiles.yml")
    settings = profile["shop"]["outputs"]["local"]["server_side_parameters"]
    assert settings["spark.jars.packages"] == HUDI_BUNDLE
    shared = settings.keys() & NEEDED_SETTINGS.keys()
    assert len(shared) == 2
    assert {name: settings[name] for name in shared} == {name: NEEDED_SETTINGS[name] for name in shared}


def test_page_names_the_versions_that_are_installed():
    locked = set(
        re.findall(r"^(\S+==\S+)", (ROOT / "requirements/orchestrators.txt").read_text(), re.MULTILINE)
    )
    named = set(re.findall(r"`([\w-]+==[\d.]+)`", PAGE))
    assert len(named) == 5
    assert named <= locked
