"""`complete_when:` which folders are sets, and what conflicts with it."""

from typing import Any

import pytest
from pydantic import ValidationError

from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.config.table.file_sets import find_set_folder


def build(**table: Any) -> TableConfig:
    given = {"path": "dumps/day=*/*.json", "record_key": "id", "complete_when": {"marker": "_SUCCESS"}}
    return TableConfig.model_validate(given | table)


def list_problems(**table: Any) -> list[str]:
    with pytest.raises(ValidationError) as error:
        build(**table)
    return [str(one["msg"]) for one in error.value.errors()]


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["dumps/day=*/*.json"], "dumps/day=*"),
        (["dumps/day=*/**/*.json"], "dumps/day=*"),
        (["dumps/day=*/region=eu/*.json"], "dumps/day=*"),
        (["dumps/{orders,items}-*/*.json"], None),
        (["dumps/*/{a,b}.json"], "dumps/*"),
        (["dumps/*.json"], "dumps"),
        (["dumps/**/*.json"], "dumps"),
        (["*.json"], ""),
        (["**/*.json"], ""),
        (["a/*/b/*/c.json"], None),
        (["a/**/b=*/c.json"], None),
        (["a/*/x.json", "b/*/x.json"], None),
        (["a/*/x.json", "a/*/y.json"], "a/*"),
    ],
)
def test_the_path_implies_the_folder_of_a_set(paths: list[str], folder: str | None) -> None:
    assert find_set_folder(paths) == folder


@pytest.mark.parametrize(("given", "share"), [("50%", 0.5), ("12.5 %", 0.125), (0.25, 0.25), (1, 1.0)])
def test_a_share_may_be_a_percentage(given: object, share: float) -> None:
    found = build(complete_when={"files": 3, "max_shrink": given}).complete_when
    assert found is not None
    assert found.max_shrink == share


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"complete_when": {}}, "needs at least one condition. Allowed: marker, manifest, files, quiet_for"),
        ({"complete_when": {"files": 0}}, "greater than or equal to 1"),
        ({"complete_when": {"files": 1, "max_shrink": "150%"}}, "less than or equal to 1"),
        ({"complete_when": {"files": 1, "max_shrink": "half"}}, "valid number"),
        ({"complete_when": {"marker": "../_SUCCESS"}}, "is not the name of a file in the set's folder"),
        ({"complete_when": {"manifest": "/m.json"}}, "is not the name of a file in the set's folder"),
        ({"complete_when": {"files": 1, "folder": "dumps/**"}}, "use one `*` for each part"),
        ({"path": "a/*/b/*/c.json"}, "does not imply it; name the folders that hold one set each"),
        ({"partition_columns": "day"}, "'day' is part of the folder of a set"),
        ({"record_key": []}, "missing; `complete_when` requires the columns by which"),
        ({"mode": "append"}, "cannot be combined with `complete_when`. Allowed: merge"),
        ({"changes": {"preset": "dms"}}, "whose files hold rows, not changes"),
        ({"merge_mode": "commit_time"}, "the table is made equal to a set of files"),
        ({"partial_updates": True}, "the table is made equal to a set of files"),
        ({"history": "scd2", "partition": "valid_from"}, "adds the column 'valid_from'"),
        ({"history": "scd2", "complete_when": None}, "not applicable without `complete_when`"),
        ({"from": "orders", "path": ["**"], "record_key": []}, "not applicable with `from: orders`"),
    ],
)
def test_conflicts_are_named(table: dict[str, Any], text: str) -> None:
    assert any(text in problem for problem in list_problems(**table)), list_problems(**table)


def test_a_source_is_not_cleaned_of_parts_of_a_set() -> None:
    table = {"path": "dumps/*/*.json", "record_key": "id", "complete_when": {"files": 1}}
    with pytest.raises(ValidationError, match="a set would seem to lose files"):
        Settings.model_validate(
            {
                "source": {"type": "local", "path": "/landing", "clean_source": "delete"},
                "lake": "/lake",
                "tables": {"rows": table},
            }
        )
