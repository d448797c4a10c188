"""The committed reference pages are what the models say."""

from pathlib import Path

import pytest

from headwater.config.json_schema import build_json_schema
from headwater.config.reference import PAGE_NAME, SCHEMA_NAME, render_page, render_schema, write_reference

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
HOW = "run `python -m headwater.config.reference`"


@pytest.mark.parametrize(("name", "render"), [(PAGE_NAME, render_page), (SCHEMA_NAME, render_schema)])
def test_committed_page_is_up_to_date(name: str, render: object) -> None:
    assert callable(render)
    assert (REFERENCE / name).read_text(encoding="utf-8") == render(), HOW


def test_pages_are_written(tmp_path: Path) -> None:
    assert {path.name for path in write_reference(tmp_path / "new")} == {PAGE_NAME, SCHEMA_NAME}


def test_every_key_is_described() -> None:
    definitions = build_json_schema()["$defs"]
    assert isinstance(definitions, dict)
    bare = [
        f"{section}.{key}"
        for section, node in definitions.items()
        for key, child in node.get("properties", {}).items()
        if not child.get("description")
    ]
    assert bare == []


def test_editors_accept_one_name_where_a_list_may_stand() -> None:
    definitions = build_json_schema()["$defs"]
    assert isinstance(definitions, dict)
    kinds = definitions["TableConfig"]["properties"]["record_key"]["anyOf"]
    assert {kind["type"] for kind in kinds} == {"string", "array"}
