"""`headwater sql` as a command: what is printed, and exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.lakes import FIXTURE_LAKE, write_config


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(config), "sql", *args])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


@pytest.fixture
def empty_lake(tmp_path: Path) -> Path:
    return write_config(tmp_path, tmp_path / "lake")


def test_json_is_one_object_a_row(config):
    done = run(config, "select order_id, amount from orders_cow order by order_id limit 2", "--json")
    assert done.exit_code == 0
    assert done.stdout == '{"order_id": "o1", "amount": "1.52"}\n{"order_id": "o3", "amount": "3.52"}\n'


def test_json_has_all_rows_unless_limited(config):
    generated = "select value from generate_series(1, 250)"
    assert len(run(config, generated, "--json").stdout.splitlines()) == 250
    assert len(run(config, generated, "--json", "--limit", "7").stdout.splitlines()) == 7


def test_no_row_is_no_line(config):
    done = run(config, "select * from orders_mor where order_id = 'none'", "--json")
    assert (done.exit_code, done.stdout) == (0, "")


def test_text_hides_hudis_columns_unless_they_are_meant(config):
    header = run(config, "select * from archived").stdout.splitlines()[0]
    assert header.split() == ["id", "name"]
    assert "_hoodie_file_name" in run(config, "select * from archived", "--all-columns").stdout
    named = run(config, "select _hoodie_record_key from archived").stdout
    assert named.splitlines()[0].split() == ["_hoodie_record_key"]


def test_columns_of_lineage_are_shown_when_they_are_meant(config):
    shown = run(config, "select * from orders_cow limit 1").stdout.splitlines()[0].split()
    assert "order_id" in shown
    assert not [name for name in shown if name.startswith("_")]
    named = run(config, "select order_id, _hoodie_record_key as k from orders_cow limit 1")
    assert named.stdout.splitlines()[0].split() == ["order_id", "k"]


MIXED = "select 1 as id, 'a|b' as name, null as empty, [1, 2] as list, 1.50 as price"


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--format", "csv"], 'id,name,empty,list,price\n1,a|b,,"[1, 2]",1.5\n'),
        (
            ["--format", "markdown"],
            "| id | name | empty | list | price |\n| --- | --- | --- | --- | --- |\n"
            "| 1 | a\\|b |  | [1, 2] | 1.5 |\n",
        ),
        (["--format", "json"], '{"id": 1, "name": "a|b", "empty": null, "list": [1, 2], "price": 1.5}\n'),
    ],
)
def test_formats_print_all_values(config, tmp_path, options, printed):
    done = run(config, MIXED, *options)
    assert (done.exit_code, done.stdout) == (0, printed)
    file = tmp_path / "out.txt"
    assert run(config, MIXED, *options, "-o", str(file)).stdout == ""
    assert file.read_text() == printed


def test_the_extension_of_the_output_is_its_format(config, tmp_path):
    generated = "select value from generate_series(1, 250)"
    for name in ("out.csv", "out.jsonl", "out.md"):
        assert run(config, generated, "-o", str(tmp_path / name)).exit_code == 0
    counts = {path.name: len(path.read_text().splitlines()) for path in tmp_path.glob("out.*")}
    assert counts == {"out.csv": 251, "out.jsonl": 250, "out.md": 252}
    assert run(config, "select * from orders_cow", "-o", str(tmp_path / "out.parquet")).exit_code == 0
    table = pq.read_table(tmp_path / "out.parquet")
    assert (table.num_rows, table.schema.field("amount").type) == (8, pa.decimal128(10, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "parquet"], "--format parquet needs a file"),
        (["--format", "csv", "--json"], "--json and --format name different formats"),
        (["-o", "out.what"], "its extension names no format"),
        (["-f", "none.sql"], "both a query and --file"),
    ],
)
def test_options_that_contradict_each_other_have_a_next_step(config, options, message):
    done = run(config, "select 1", *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "hint" in done.stderr


def test_an_output_that_cannot_be_written_is_an_error(config, tmp_path):
    for name in ("out.csv", "out.parquet"):
        done = run(config, "select 1 as one", "-o", str(tmp_path / "none" / name))
        assert done.exit_code == 1
        assert "cannot write" in done.stderr


def test_a_query_comes_from_a_file_or_a_pipe(config, tmp_path):
    (tmp_path / "q.sql").write_text("select 1 as one;\n")
    assert run(config, "-f", str(tmp_path / "q.sql"), "--json").stdout == '{"one": 1}\n'
    piped = CliRunner().invoke(app, ["-c", str(config), "sql", "--json"], input="select 2 as two")
    assert piped.stdout == '{"two": 2}\n'
    missing = run(config, "-f", str(tmp_path / "none.sql"))
    assert (missing.exit_code, "cannot read the query" in missing.stderr) == (2, True)


def test_text_distinguishes_null_from_empty_and_counts_rows(config):
    done = run(config, "select cast(null as varchar) as a, '' as b, 1234567 as c, [1, 2] as d")
    header, row, count, _ = done.stdout.splitlines()
    assert header.split() == ["a", "b", "c", "d"]
    assert row.split() == ["NULL", "1234567", "[1,", "2]"]
    assert count == "1 row"


def test_text_shows_a_hundred_rows_and_says_that_there_are_more(config):
    lines = run(config, "select value from generate_series(1, 101)").stdout.splitlines()
    assert len(lines) == 103
    assert lines[-2] == "First 100 rows; show more with --limit N, or all with --json"
    assert run(config, "select value from generate_series(1, 100)").stdout.splitlines()[-2] == "100 rows"


def test_long_values_are_cut_in_text_only(config):
    query = "select repeat('x', 1000) as x"
    assert "… (1,000 characters)" in run(config, query).stdout
    assert len(json.loads(run(config, query, "--json").stdout)["x"]) == 1000


def test_own_tables_have_names(config):
    done = run(config, "select count(*) as n from events where kind = 'created'", "--json")
    assert json.loads(done.stdout) == {"n": 9}
    assert json.loads(run(config, "select count(*) as n from quarantine", "--json").stdout) == {"n": 4}
    shown = run(config, "show tables", "--json").stdout.splitlines()
    assert [json.loads(line)["table"] for line in shown] == [
        *("orders_cow", "orders_mor", "archived", "odd_partitions", "coming"),
        *("events", "quarantine", "ledger", "reconciles"),
    ]


@pytest.mark.parametrize("name", ["coming", "events", "quarantine", "ledger", "reconciles"])
def test_empty_table_is_reported(empty_lake, name):
    done = run(empty_lake, f"select count(*) as n from {name}", "--json")
    error = json.loads(done.stderr)
    assert (done.exit_code, done.stdout, error["error"]) == (2, "", "TableNotFoundError")
    assert error["message"].startswith(f"table {name} has no rows yet: ")
    assert error["hint"]


def test_unknown_table_exits_2_with_the_nearest(config):
    done = run(config, "select * from orders_cwo")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == "error: SQL: line 1, column 15: there is no table orders_cwo"
    assert "did you mean orders_cow?" in done.stderr


def test_write_is_refused(config):
    done = run(config, "delete from orders_cow")
    assert done.exit_code == 2
    assert "DELETE is not allowed" in done.stderr


def test_query_that_stops_early_ends_its_process_cleanly(config):
    command = [sys.executable, "-m", "headwater.cli.main", "-c", str(config), "sql", "--json"]
    for _ in range(2):
        done = subprocess.run(
            [*command, "select order_id from orders_cow limit 1"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) == 1


def test_query_without_a_jvm_does_not_take_the_time_to_import_pandas(config):
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-m",
            "headwater.cli.main",
            "-c",
            str(config),
            "sql",
            "--json",
            "select order_id, amount from orders_cow where order_id = 'o1'",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "datafusion" in imported
    assert "pandas.core.api" not in imported  # that it was looked for is told, too
    assert done.stdout == '{"order_id": "o1", "amount": "1.52"}\n'


def test_text_ends_with_the_engine_and_json_does_not(config):
    query = "select order_id from orders_mor where order_id = 'o1'"
    assert run(config, query).stdout.splitlines()[-2:] == ["1 row", "read by hudi-rs+datafusion"]
    assert run(config, query, "--json").stdout == '{"order_id": "o1"}\n'


@pytest.mark.parametrize("table", ["orders_cow", "orders_mor"])
def test_every_table_named_is_read_as_it_was(config, table):
    names = SnapshotReader(f"{FIXTURE_LAKE}/{table}").commit_names
    count = f"select count(*) as n from {table}"

    def ask(query, *options):
        return [json.loads(line) for line in run(config, query, *options, "--json").stdout.splitlines()]

    assert ask(count) == [{"n": 8}]
    assert ask(count, "--as-of", names[1].completed) == [{"n": 9}]
    assert ask(count, "--changes-since", names[0].completed) == [{"n": 3}]
    assert ask(count, "--changes-since", "earliest") == ask(count, "--changes-since", "5000w") == [{"n": 8}]
    deleted = f"select order_id from {table} where order_id = 'o2'"
    assert ask(deleted) == []
    assert ask(deleted, "--as-of", names[0].completed) == [{"order_id": "o2"}]
    assert ask(deleted, "--read-optimized") == ([] if table == "orders_cow" else [{"order_id": "o2"}])
    joined = (
        f"select a.order_id from {table} a join {table} b on a.order_id = b.order_id where b.updated_at > 1"
    )
    changed = ask(joined, "--changes-since", names[0].completed)
    assert sorted(row["order_id"] for row in changed) == ["o1", "o3"]
    assert ask(joined, "--as-of", names[0].completed) == []
    union = f"select order_id from {table} union all select order_id from {table}"
    assert len(ask(union, "--as-of", names[0].completed)) == 16


def test_all_tables_of_a_statement_are_of_the_same_moment(config):
    cow, mor = (
        SnapshotReader(f"{FIXTURE_LAKE}/{name}").commit_names for name in ("orders_cow", "orders_mor")
    )
    query = "select (select count(*) from orders_cow) as cow, (select count(*) from orders_mor) as mor"
    done = run(config, query, "--as-of", mor[0].completed, "--json")
    assert cow[-1].completed < mor[0].completed
    assert json.loads(done.stdout) == {"cow": 8, "mor": 8}
    # The merge-on-read table came later.
    refused = run(config, query, "--as-of", cow[1].completed, "--json")
    assert refused.exit_code == 2
    error = json.loads(refused.stderr)
    assert error["error"] == "InstantUnavailableError"
    assert f"the first commit completed at {mor[0].completed}" in error["hint"]


@pytest.mark.parametrize(
    ("options", "expected_message"),
    [
        (("--as-of", "soon"), "'soon' is not a point in time"),
        (("--cdc",), "--cdc requires --changes-since"),
        (("--as-of", "2026-11-21", "--changes-since", "earliest"), "cannot be combined"),
        (("--as-of", "2026-11-21", "--read-optimized"), "cannot be combined"),
        (("--changes-since", "earliest", "--cdc"), "the table has no change log"),
    ],
)
def test_invalid_options_are_rejected_before_spark_starts(config, options, expected_message, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    done = run(config, "select * from orders_cow", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert expected_message in done.stderr
