"""What is wrong with steps and checks is told before Spark starts: files, functions, names, the salt."""

import pytest

from headwater.config.loader import parse_settings
from headwater.errors import ConfigError
from headwater.lake.transforms.checking import check_processing
from headwater.lake.transforms.python_function import load_function

HEAD = """\
source: {type: local, path: source}
lake: lake
tables:
  orders:
    path: "*.json"
"""
SALTED = {"HEADWATER_HASH_SALT": "pepper"}


def find_problems(tmp_path, text, environ=SALTED):
    settings = parse_settings(HEAD + text, tmp_path / "headwater.yaml", {})
    try:
        check_processing(settings, environ)
    except ConfigError as error:
        return error.message.splitlines()
    return []


def steps(*texts):
    return "    transform:\n" + "".join(f"      - {{{text}}}\n" for text in texts)


def checks(*texts):
    return "    checks:\n" + "".join(f"      - {{{text}}}\n" for text in texts)


def test_valid_transforms_and_checks_have_no_problem(tmp_path):
    (tmp_path / "paid.sql").write_text(
        "select _headwater_source, id, amount as price from input where paid;\n"
    )
    (tmp_path / "beside_config.py").write_text("def clean(df):\n    return df\n")
    text = (
        "    schema: id bigint, amount double, paid boolean\n"
        + steps("sql_file: paid.sql", "python: 'beside_config:clean'", "hash: id")
        + checks("sql: select count(*) from input, equals: 0", "not_null: id")
    )
    assert find_problems(tmp_path, text) == []


def test_all_problems_are_reported_with_their_path(tmp_path):
    (tmp_path / "broken_module.py").write_text("import no_such_thing\n")
    (tmp_path / "cleaning_steps.py").write_text("def only_paid(df):\n    return df\nLIMIT = 3\n")
    (tmp_path / "empty.sql").write_text("\n")
    text = steps(
        "sql: select sum(x) from input",
        "sql_file: absent.sql",
        "sql_file: empty.sql",
        "python: 'no_such_module:clean'",
        "python: 'broken_module:clean'",
        "python: 'cleaning_steps:only_payd'",
        "python: 'cleaning_steps:LIMIT'",
        "python: 'absent.py:clean'",
        "hash: [email]",
    ) + checks("sql: select a from, equals: 1", "sql: 'select a, b from input', equals: 1")
    found = find_problems(tmp_path, text, environ={})
    wanted = [
        ("transform[0].sql", "SUM(x) without GROUP BY _headwater_source combines all rows"),
        ("transform[1].sql_file", "cannot be read: No such file"),
        ("transform[2].sql_file", "the file is empty"),
        ("checks[0].sql", "SQL: line 1"),
        ("checks[1].sql", "it selects 2 columns"),
        ("transform[3].python", "there is no module 'no_such_module'"),
        ("transform[4].python", "broken_module cannot be imported: ModuleNotFoundError"),
        ("transform[5].python", "no function 'only_payd'; did you mean 'only_paid'?"),
        ("transform[6].python", "is int, not a function"),
        ("transform[7].python", "the file does not exist"),
        ("transform[8].hash", "set the environment variable HEADWATER_HASH_SALT"),
    ]
    assert len(found) == len(wanted)
    for line, (place, said) in zip(found, wanted, strict=True):
        assert line.startswith(f"tables.orders.{place}: ")
        assert said in line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "    schema: id bigint, price double\n" + steps("drop: [pric]"),
            "tables.orders.transform[0].drop: no column 'pric'. Did you mean 'price'?",
        ),
        (
            "    schema: id bigint, price double\n" + steps("rename: {price: cost}", "keep: [id, price]"),
            "tables.orders.transform[1].keep: no column 'price'.",
        ),
        (
            "    record_key: order_id\n" + steps("sql: 'select _headwater_source, id from input'"),
            "tables.orders.record_key: no column 'order_id'. The columns are id",
        ),
        (
            steps("keep: [id, day]") + checks("not_null: [id, dya]"),
            "tables.orders.checks[0].not_null: no column 'dya'. Did you mean 'day'?",
        ),
        (
            "    schema: id bigint, price double\n" + checks("range: {column: prise, min: 1}"),
            "tables.orders.checks[0].range: no column 'prise'. Did you mean 'price'?",
        ),
    ],
)
def test_impossible_column_is_reported(tmp_path, text, line):
    (found,) = find_problems(tmp_path, text)
    assert found.startswith(line)


def test_columns_known_only_from_data_are_not_checked(tmp_path):
    text = (
        "    record_key: key\n"
        + steps("drop: anything", "flatten: true", "keep: key")
        + checks("unique: key")
    )
    assert find_problems(tmp_path, text) == []


def test_function_of_a_file_or_module_next_to_the_configuration_is_found(tmp_path):
    (tmp_path / "shouting.py").write_text("def shout(text):\n    return text.upper()\n")
    assert load_function("shouting:shout", tmp_path)("a") == "A"
    assert load_function("shouting.py:shout", tmp_path)("b") == "B"
