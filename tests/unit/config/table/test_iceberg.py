"""Tables that cannot have an Iceberg view are refused with the key and the reason."""

from pathlib import Path

import pytest

from headwater.config.extras.needs import iter_needs
from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

HEAD = "source: {type: local, path: source}\nlake: lake\ntables:\n"


def load(folder: Path, given: str) -> Settings:
    text = f"{HEAD}  a: {{path: '*.json', iceberg: true{given}}}\n"
    return parse_settings(text, folder / "headwater.yaml", {})


def test_a_view_needs_an_extra(tmp_path: Path) -> None:
    found = [(need.path, need.extra) for need in iter_needs(load(tmp_path, ""))]
    assert found == [(("tables", "a", "iceberg"), "iceberg")]
    assert not list(iter_needs(parse_settings(f"{HEAD}  a: {{path: '*.json'}}\n", tmp_path / "b.yaml", {})))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (", partition: day, drop_partition_columns: true", "reads partition values from the files"),
        (", columns: {embedding: vector(8)}", "Iceberg has no type for vector(8) (column embedding)"),
        (", hoodie: {hoodie.write.table.version: 6}", "requires table version 8 or later, not"),
    ],
)
def test_problems_name_what_a_view_lacks(tmp_path: Path, given: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, given)
    assert "tables.a.iceberg: " in str(caught.value)
    assert problem in str(caught.value)


def test_orc_files_are_refused(tmp_path: Path) -> None:
    text = f"{HEAD}  a: {{path: '*.json', iceberg: true, base_file_format: orc}}\n"
    with pytest.raises(ConfigError, match="iceberg: requires `base_file_format: parquet`"):
        parse_settings(text, tmp_path / "headwater.yaml", {})
