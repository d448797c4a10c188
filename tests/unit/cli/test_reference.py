"""The committed page of the command line is what the commands say."""

import re
from pathlib import Path

import pytest

from headwater.cli.main import COMMANDS
from headwater.cli.reference import PAGE_NAME, render_page, write_reference

PAGE = Path(__file__).parents[3] / "docs" / "reference" / PAGE_NAME


@pytest.fixture(scope="module")
def text() -> str:
    return render_page()


def test_committed_page_is_up_to_date(text: str) -> None:
    assert PAGE.read_text(encoding="utf-8") == text, "run `python -m headwater.cli.reference`"


def test_page_is_written(tmp_path: Path) -> None:
    assert write_reference(tmp_path / "new").read_text("utf-8").startswith("# Command line\n")


def test_every_command_is_described_and_groups_have_those_below_them(text: str) -> None:
    headings = re.findall(r"^##+ `headwater (.+)`$", text, re.MULTILINE)
    assert [heading for heading in headings if " " not in heading] == list(COMMANDS)
    assert {"table NAME compact", "table NAME index create", "quarantine retry", "config check"} <= set(
        headings
    )


def test_exit_codes_of_commands_and_options_are_in_one_table(text: str) -> None:
    assert "| `headwater reconcile --dry-run` | 3 | there are differences |" in text
    assert "| `headwater services run` | 1 | a table failed with --once |" in text


def test_characters_of_markdown_are_escaped(text: str) -> None:
    assert "[default: 60; 1&lt;=x&lt;=3600]" in text
    assert "`--cloud <s3\\|gcs\\|azure\\|kafka>`" in text
