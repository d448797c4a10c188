"""Tables built from several tables in the file: what `from` with a list may contain, and what it requires."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.lake.transforms.checking import check_processing

HEAD = """\
source: {type: local, path: source}
lake: lake
tables:
  orders: {path: "orders/*.json", mode: mirror}
  customers: {path: "customers/*.json", mode: mirror}
"""
SQL = "select c.id, count(*) as n from orders o join customers c on o.customer_id = c.id group by c.id"
STEP = f"transform: [{{sql: '{SQL}'}}]"
KEYS = "refresh: changed_keys, record_key: id"


def load(folder: Path, text: str) -> Settings:
    settings = parse_settings(HEAD + text, folder / "headwater.yaml", {})
    check_processing(settings, {})
    return settings


def test_tables_of_the_lake_and_of_other_programs_are_joined(tmp_path: Path) -> None:
    text = f"  joined: {{from: [orders, {{hudi: other/people/, as: customers}}], {KEYS}, {STEP}}}\n"
    settings = load(tmp_path, text)
    table = settings.tables["joined"]
    assert dict(table.inputs) == {"orders": "orders", "customers": str(tmp_path / "other/people")}
    assert table.effective_group_key == ("id",)
    # The effective configuration is a valid one, with the same meaning.
    again = Settings.model_validate(settings.to_effective())
    assert again.tables["joined"].inputs == table.inputs


def test_a_table_comes_after_all_of_its_sources(tmp_path: Path) -> None:
    text = f"  joined: {{from: [paid, customers], {KEYS}, {STEP.replace('orders', 'paid')}}}\n"
    settings = load(tmp_path, text + "  paid: {from: orders}\n")
    assert list(settings.derived_tables) == ["paid", "joined"]


def test_any_statement_is_allowed_for_a_full_refresh(tmp_path: Path) -> None:
    steps = f"transform: [{{sql: '{SQL} limit 1'}}, {{sql: 'select id, sum(n) as n from input group by id'}}]"
    load(tmp_path, f"  a: {{from: [orders, customers], refresh: full, record_key: id, {steps}}}\n")


@pytest.mark.parametrize(
    ("table", "starts"),
    [
        (f"{{from: [orders, customer], {KEYS}, {STEP}}}",
            ["a.from[1]: unknown table 'customer'. Did you mean 'customers'?"]),
        (f"{{from: [orders, a], {KEYS}, {STEP}}}", ["a.from[1]: 'a' is the table itself"]),
        (f"{{from: [orders, b], {KEYS}, {STEP}}}\n  b: {{from: c}}\n  c: {{from: a}}",
            ["a.from[1]: the tables form a cycle: a <- b <- c <- a", "b.from: ", "c.from: "]),
        ("{from: 5}", ["a.from: 5 is not allowed. Allowed: the name of a table, {hudi: ADDRESS}, {delta: "]),
        ("{from: [orders, 5, [customers]]}", ["a.from[1]: 5 is not", "a.from[2]: ['customers'] is not"]),
        (f"{{from: [orders], {KEYS}, {STEP}}}", ["a.from: a list requires at least two tables"]),
        (f"{{from: [orders, Orders, orders], {KEYS}, {STEP}}}",
            ["a.from[1]: duplicate name 'Orders'", "a.from[2]: duplicate name 'orders'"]),
        (f"{{from: [orders, {{hudi: s3a://x/y}}], {KEYS}, {STEP}}}", ["a.from[1].as: missing; in a list"]),
        (f"{{from: [{{hudi: /x, as: orders}}, {{hudi: /x/, as: customers}}], {KEYS}, {STEP}}}",
            ["a.from[1]: '/x' is in the list already"]),
        ("{from: {hudi: /x, as: y}}", ["a.from.as: not applicable to a single table"]),
        (f"{{from: [orders, customers], record_key: id, {STEP}}}",
            ["a.refresh: missing; `from: [orders, customers]` joins tables. Allowed: changed_keys, full"]),
        (f"{{from: [orders, customers], refresh: changes, record_key: id, {STEP}}}",
            ["a.refresh: 'changes' requires a single table"]),
        (f"{{from: [orders, customers], {KEYS}}}", ["a.transform: with `from: [orders, customers]`"]),
        (f"{{from: [orders, customers], {KEYS}, transform: [{{drop: x}}, {{sql: '{SQL}'}}]}}",
            ["a.transform: "]),
        (f"{{from: [orders, customers], {KEYS}, transform: [{{sql: '{SQL} limit 1'}}]}}",
            ["a.transform[0].sql: SQL: LIMIT 1 may depend on rows of other groups"]),
        (f"{{from: [orders, customers], {KEYS}, transform: [{{sql: '{SQL}'}}, "
            "{sql: select n as id from input}]}", ["a.transform[1].sql: SQL: the result must contain `id`"]),
        (f"{{from: [orders, customers], mode: mirror, {KEYS}, {STEP}}}",
            ["a.mode: cannot be combined with `from: [orders, customers]`"]),
    ],
)  # fmt: skip
def test_invalid_settings_are_reported_with_their_path(tmp_path: Path, table: str, starts: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, f"  a: {table}\n")
    found = [line.partition("tables.")[2] for line in raised.value.message.splitlines()]
    assert len(found) == len(starts), found
    for line, start in zip(found, starts, strict=True):
        assert line.startswith(start), line
