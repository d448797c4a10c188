"""When a derived table is made by other rules, so that all of it has to be made anew."""

from pathlib import Path
from typing import Any

import pytest

from headwater.config.table import TableConfig
from headwater.errors import ConfigError
from headwater.medallion.definition import build_definition


def define(folder: Path, **table: Any) -> str:
    given = {"from": "orders", **table}
    return build_definition(TableConfig.model_validate(given, context={"folder": folder}))


def test_file_settings_do_not_change_the_definition(tmp_path: Path) -> None:
    assert define(tmp_path) == define(tmp_path, keep_commits=30, table_type="merge_on_read")
    assert define(tmp_path, refresh="changes") == define(tmp_path)


def test_source_refresh_and_transforms_are_part_of_the_definition(tmp_path: Path) -> None:
    found = [
        define(tmp_path),
        define(tmp_path, **{"from": "others"}),
        define(tmp_path, refresh="full", record_key="id"),
        define(tmp_path, transform=[{"drop": "a"}]),
        define(tmp_path, transform=[{"drop": "b"}]),
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("step", "name", "texts"),
    [
        ("sql_file", "paid.sql", ("select * from input", "select id from input")),
        (
            "python",
            "steps.py",
            ("def clean(df):\n    return df\n", "def clean(df):\n    return df.distinct()\n"),
        ),
    ],
)
def test_file_contents_are_part_of_the_definition(
    tmp_path: Path, step: str, name: str, texts: tuple[str, str]
) -> None:
    file = tmp_path / name
    file.write_text(texts[0])
    wanted = {step: f"{name}:clean" if step == "python" else name}
    first = define(tmp_path, transform=[wanted])
    assert define(tmp_path, transform=[wanted]) == first
    file.write_text(texts[1])
    assert define(tmp_path, transform=[wanted]) != first


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"steps\.py"):
        define(tmp_path, transform=[{"python": "steps.py:clean"}])
