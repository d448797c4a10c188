"""`headwater spark` before Spark starts: its options, and how a text is divided into statements."""

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.cli.spark.statements import split_statements


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select 1", ["select 1"]),
        ("select 1;", ["select 1"]),
        ("select 1; select 2", ["select 1", "select 2"]),
        ("select ';'; -- a; b\nselect 2 /* ; */;", ["select ';'", "-- a; b\nselect 2 /* ; */"]),
        ("; ;\n-- nothing", []),
        ("call show_commits(table => 'orders');\n", ["call show_commits(table => 'orders')"]),
        ("insert into hudi.`/a;b` select 1", ["insert into hudi.`/a;b` select 1"]),
        ("select 'open", ["select 'open"]),
    ],
)
def test_semicolons_in_texts_and_comments_end_no_statement(text, found):
    assert list(split_statements(text)) == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--file", "a.sql"), "require --sql"),
        (("--json",), "require --sql"),
        (("select 1",), "there is no such Python script"),
        (("--sql", "select", "1"), "--sql takes one argument"),
        (("--sql", "--file", "absent.sql"), "cannot read the query"),
        (("--sql", "--format", "parquet", "select 1"), "needs a file"),
    ],
)
def test_wrong_options_are_rejected_before_anything_starts(words, said):
    done = CliRunner().invoke(app, ["spark", *words])
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


def test_options_after_the_script_are_the_scripts(tmp_path):
    script = tmp_path / "job.py"
    script.write_text("")
    done = CliRunner().invoke(app, ["spark", "-c", str(tmp_path / "absent.yaml"), str(script), "--day", "1"])
    assert "absent.yaml" in done.stderr
