"""What the documents show is true of the code: configurations load, options exist, links lead somewhere."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from headwater.config.lakes import choose_lake, list_lakes
from headwater.config.settings import Settings
from headwater.config.source import QueueConfig
from headwater.config.table import TableConfig

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
HOW_TO = (ROOT / "docs/how-to/from-hoodie-streamer.md").read_text("utf-8")

CONFIGURATIONS = [
    pytest.param(block, id=f"{path.relative_to(ROOT)}:{number}")
    for path in DOCUMENTS
    for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", path.read_text("utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_every_documented_configuration_is_valid(text: str) -> None:
    file = YAML(typ="safe").load(text)
    for name in list_lakes(file) or [""]:
        lake, problems = choose_lake(file, name)
        assert problems == []
        Settings.model_validate(lake.data)


def test_the_minimal_configuration_is_short() -> None:
    shortest = min((str(block.values[0]) for block in CONFIGURATIONS), key=lambda text: text.count("\n"))
    assert shortest.count("\n") <= 15


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_inside_leads_to_a_file(path: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#]+)", path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_every_queue_option_is_in_the_mapping() -> None:
    # max_in_flight is ours alone: the other side stops without saying so.
    named = set(re.findall(r"`source\.queue\.(\w+)`", HOW_TO))
    assert named == set(QueueConfig.model_fields) - {"max_in_flight"}


def test_every_table_option_named_in_the_mapping_exists() -> None:
    rows = HOW_TO.split("## Stage 2")[1].split("## The command line")[0].splitlines()
    cells = " ".join(line.split("|")[3] for line in rows if line.count("|") == 5)
    named = {name for name in re.findall(r"`([a-z_]+)`", cells) if name != "lake"}
    known = set(TableConfig.model_fields) | {field.alias for field in TableConfig.model_fields.values()}
    assert named <= known, named - known


def test_changelog_has_an_unreleased_section() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
