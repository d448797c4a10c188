"""Tables built from tables in the file: what may stand beside `from`, and how tables depend on each other."""

import re
from pathlib import Path
from typing import Any

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.lake.transforms.checking import check_processing

HEAD = """\
source: {type: local, path: source}
lake: lake
tables:
  orders: {path: "*.json", record_key: id}
"""


def load(tmp_path, text) -> Settings:
    settings = parse_settings(HEAD + text, tmp_path / "headwater.yaml", {})
    check_processing(settings, {})
    return settings


def problems(tmp_path, text):
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    return [line.partition("tables.")[2] for line in raised.value.message.splitlines()]


def test_tables_come_in_the_order_in_which_they_depend_on_each_other(tmp_path):
    settings = load(
        tmp_path,
        """\
  gold: {from: silver, refresh: full, record_key: shop}
  silver: {from: orders}
  other: {path: "*.csv"}
""",
    )
    assert list(settings.derived_tables) == ["silver", "gold"]
    assert list(settings.object_tables) == ["orders", "other"]
    reported: Any = settings.to_effective()["tables"]
    assert (reported["silver"]["from"], reported["silver"]["refresh"]) == ("orders", "changes")


def test_groups_default_to_the_record_key(tmp_path):
    steps = "transform: [{sql: 'select shop, day, count(*) as n from input group by shop, day'}]"
    text = f"  a: {{from: orders, refresh: changed_keys, record_key: [shop, day], {steps}}}\n"
    assert load(tmp_path, text).tables["a"].effective_group_key == ("shop", "day")
    wider = text.replace("record_key:", "group_key: shop, record_key:")
    assert load(tmp_path, wider).tables["a"].effective_group_key == ("shop",)


@pytest.mark.parametrize(
    ("table", "starts"),
    [
        ("{from: order}", ["a.from: unknown table 'order'. Did you mean 'orders'?"]),
        ("{from: a}", ["a.from: 'a' is the table itself"]),
        ("{from: b}\n  b: {from: a}", ["a.from: the tables form a cycle: a <- b <- a", "b.from: "]),
        ("{from: orders, path: x, mode: merge}", ["a.path: cannot be combined with `from: orders`",
            "a.mode: "]),
        ("{from: orders, schema: id int}", ["a.schema: cannot be combined with `from: orders`"]),
        ("{from: orders, ordering: at}", ["a.ordering: not applicable with `from: orders`"]),
        ("{from: orders, refresh: full}", ["a.record_key: missing; `refresh: full` requires"]),
        ("{path: '*.json', refresh: full}", ["a.refresh: not applicable without `from`"]),
        ("{path: '*.json', group_key: id}", ["a.group_key: not applicable without `from`"]),
        ("{from: orders, group_key: id}", ["a.group_key: not applicable with `refresh: changes`"]),
        ("{from: orders, refresh: changed_keys}", [
            "a.record_key: missing; `refresh: changed_keys` requires"]),
        ("{from: orders, refresh: changed_keys, record_key: id, group_key: _hoodie_record_key}",
            ["a.group_key: '_hoodie_record_key' is not passed to the transforms"]),
        ("{from: orders, refresh: changed_keys, record_key: [s, day], transform: [{drop: S}, {keep: day}]}",
            ["a.transform[0].drop: 's' is in the table's `group_key`", "a.transform[1].keep: 's' is in"]),
        ("{from: orders, refresh: changed_keys, record_key: day, transform: [{rename: {at: day}}]}",
            ["a.transform[0].rename: 'day' is in the table's `group_key`"]),
        ("{from: orders, refresh: changed_keys, record_key: n, group_key: shop,"
            " transform: [{sql: select day as n from input group by day}]}",
            ["a.transform[0].sql: SQL: GROUP BY day combines rows with different `shop`",
                "a.group_key: no column 'shop'"]),
        ("{from: orders, checks: [{not_null: id, on_failure: quarantine}]}", ["a.checks: check 1 "]),
    ],
)  # fmt: skip
def test_invalid_settings_are_reported_with_their_path(tmp_path, table, starts):
    found = problems(tmp_path, f"  a: {table}\n")
    assert len(found) == len(starts)
    for line, start in zip(found, starts, strict=True):
        assert line.startswith(start), line


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (
            "select shop, sum(price) as total from input group by shop",
            "GROUP BY shop combines rows with different",
        ),
        ("select *, row_number() over (order by at) as n from input", "is a window over rows with different"),
        ("select distinct shop from input", "DISTINCT combines rows with different"),
        ("select * from input where at > (select max(at) from input)", "reads `input` several times"),
        ("select l.* from input l join input r on l.id = r.other", "reads `input` several times"),
        ("select * from input limit 10", "LIMIT depends on the number of rows"),
    ],
)
def test_statement_over_several_rows_requires_full_refresh(tmp_path, statement, text):
    step = f'transform: [{{sql: "{statement}"}}]'
    (line,) = problems(tmp_path, f"  a: {{from: orders, {step}}}\n")
    assert line.startswith("a.transform[0].sql: ")
    assert text in line
    assert "`refresh: full`" in line
    load(tmp_path, f"  a: {{from: orders, refresh: full, record_key: shop, {step}}}\n")


@pytest.mark.parametrize(
    "statement",
    [
        "select *, upper(shop) as u from input where price > 3",
        "select _headwater_source, id, 'net' as kind from input "
        "union all select _headwater_source, id, 'gross' as kind from input",
        "with paid as (select * from input where paid) "
        "select _headwater_source, id, explode(items) as item from paid",
    ],
)
def test_a_statement_row_by_row_follows_changes(tmp_path, statement):
    load(tmp_path, f'  a: {{from: orders, transform: [{{sql: "{statement}"}}]}}\n')


@pytest.mark.parametrize(
    "text",
    re.findall(
        r"```yaml\n(.*?)```",
        (Path(__file__).parents[4] / "docs/how-to/medallion.md").read_text("utf-8"),
        re.DOTALL,
    ),
)
def test_documented_examples_run(tmp_path, text):
    check_processing(parse_settings(text, tmp_path / "headwater.yaml", {}), {})
