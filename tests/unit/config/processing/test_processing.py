"""`transform` and `checks` in the file: each mistake is a line of its own, with its place."""

import json

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

HEAD = """\
source: {type: local, path: source}
lake: lake
tables:
  orders:
    path: "*.json"
"""


def load(tmp_path, text):
    return parse_settings(HEAD + text, tmp_path / "headwater.yaml", {}).tables["orders"]


def problems(tmp_path, text):
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, text)
    return [line.split(": ", 1)[1] for line in raised.value.message.splitlines()]


def step(text):
    return f"    transform:\n      - {{{text}}}\n"


def check(text):
    return f"    checks:\n      - {{{text}}}\n"


def test_transforms_keep_their_order_and_are_named_by_name_or_index(tmp_path):
    table = load(
        tmp_path,
        """\
    transform:
      - sql: select * from input
      - flatten:
      - {name: no emails, mask: {columns: email}}
      - sql_file: sql/paid.sql
""",
    )
    assert [part.kind for part in table.transform] == ["sql", "flatten", "mask", "sql_file"]
    labels = [part.label(number) for number, part in enumerate(table.transform, 1)]
    assert labels == [
        "step 1 (sql)",
        "step 2 (flatten)",
        "step 'no emails'",
        "step 4 (sql_file)",
    ]
    assert table.transform[3].sql_file == tmp_path / "sql/paid.sql"
    assert table.transform[1].flatten.separator == "_"
    assert table.transform[0].folder == tmp_path


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("sqll: select 1", "tables.orders.transform[0].sqll: unknown key 'sqll'. Did you mean 'sql'?"),
        ("name: nothing",
            "tables.orders.transform[0]: the transform does nothing; specify one of sql, sql_file"),
        ("drop: []", "tables.orders.transform[0].drop: empty; specify at least one column"),
        ("drop: a, keep: b", "tables.orders.transform[0].keep: cannot be combined with `drop`"),
        ("keep: [a, A]", "tables.orders.transform[0].keep: duplicate column 'a'"),
        ("rename: {a: c, b: c}", "tables.orders.transform[0].rename: two columns are renamed to 'c'"),
        ("rename: {a: 'b c'}", "tables.orders.transform[0].rename.a: 'b c' is not a valid column name"),
        ("cast: {a: strng}", "tables.orders.transform[0].cast.a: 'strng' is not a type. Did you mean 'str"),
        (
            "mask: {columns: a, keep_last: 2, replace_with: x}",
            "tables.orders.transform[0].mask.replace_with: cannot be combined with `keep_last`",
        ),
        ("flatten: {separator: '.'}", "tables.orders.transform[0].flatten.separator: '.' is not allowed"),
        ("python: cleaning", "tables.orders.transform[0].python: 'cleaning' is not allowed"),
    ],
)  # fmt: skip
def test_error_in_a_transform_is_reported_with_its_path(tmp_path, text, line):
    (found,) = problems(tmp_path, step(text))
    assert found.startswith(line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("on_failure: warn", "tables.orders.checks[0]: the check is empty; specify one of row_count, sql"),
        ("unique: []", "tables.orders.checks[0].unique: empty; specify"),
        ("row_count: {}",
            "tables.orders.checks[0].row_count: neither `min` nor `max` is set; specify at least one"),
        ("row_count: {min: 3, max: 2}", "tables.orders.checks[0].row_count.max: 2 is less than `min: 3`"),
        ("range: {column: a}",
            "tables.orders.checks[0].range: neither `min` nor `max` is set; specify at least one"),
        ("range: {column: a, min: 1, max: '2'}", "tables.orders.checks[0].range.max: one bound is text"),
        ("sql: select 1", "tables.orders.checks[0].sql: requires either `equals` or `not_equals`"),
        ("not_null: a, equals: 1", "tables.orders.checks[0].equals: not applicable with `not_null`"),
        ("not_null: a, unique: a", "tables.orders.checks[0].not_null: cannot be combined with `unique`"),
        (
            "unique: a, on_failure: quarantine",
            "tables.orders.checks[0].on_failure: 'quarantine' cannot be combined with `unique`, which does "
            "not identify single rows",
        ),
        ("not_null: a, on_failure: wran", "tables.orders.checks[0].on_failure: 'wran' is not allowed. D"),
    ],
)  # fmt: skip
def test_error_in_a_check_is_reported_with_its_path(tmp_path, text, line):
    (found,) = problems(tmp_path, check(text))
    assert found.startswith(line)


def test_two_of_one_name_are_refused(tmp_path):
    found = problems(tmp_path, step("name: x, drop: a") + "      - {name: x, drop: b}\n")
    assert found == ["tables.orders.transform: duplicate name 'x'; choose unique names"]


def test_unknown_key_in_a_list_hides_no_other_problem(tmp_path):
    found = problems(tmp_path, step("dropp: [a, a]") + check("row_count: {min: 2, max: 1}"))
    assert [line.split(":")[0] for line in found] == [
        "tables.orders.transform[0].dropp",
        "tables.orders.transform[0].drop",
        "tables.orders.checks[0].row_count.max",
    ]


def test_configuration_that_counts_is_a_configuration_again(tmp_path):
    text = HEAD + step("flatten: true") + check("not_null: a, on_failure: quarantine")
    text += "  gold: {from: orders}\n"
    settings = parse_settings(text, tmp_path / "headwater.yaml", {})
    plain = json.loads(json.dumps(settings.to_effective()))
    again = Settings.model_validate(plain, context={"folder": tmp_path})
    assert again.tables["orders"].transform == settings.tables["orders"].transform
    assert again.tables["orders"].checks == settings.tables["orders"].checks
