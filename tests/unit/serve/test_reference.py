"""The committed reference of the API is what the code says."""

import json
from pathlib import Path

import pytest

from headwater.serve.reference import OPENAPI_NAME, PAGE_NAME, render_openapi, render_page, write_reference

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
HOW = "run `python -m headwater.serve.reference`"


@pytest.mark.parametrize(("name", "render"), [(OPENAPI_NAME, render_openapi), (PAGE_NAME, render_page)])
def test_committed_files_are_up_to_date(name, render):
    assert (REFERENCE / name).read_text("utf-8") == render(), HOW


def test_files_are_written(tmp_path):
    assert {path.name for path in write_reference(tmp_path / "new")} == {OPENAPI_NAME, PAGE_NAME}


def test_every_address_is_there_with_its_problems():
    document = json.loads(render_openapi())
    assert set(document["paths"]) == {
        "/search",
        "/recommend",
        "/products/{product_id}/similar",
        "/healthz",
        "/readyz",
        "/metrics",
        "/status",
    }
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert {"4XX", "5XX"} <= set(operation["responses"])
