"""The structure check finds what it says it finds, and lets the rest be."""

from pathlib import Path

import pytest

import check_structure


def messages(root: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [finding.message for finding in check_structure.check(root)]


def function_of(lines: int, docstring: bool = False) -> str:
    head = '    """One\n\n    two.\n    """\n' if docstring else ""
    return "def f():\n" + head + "    x = 1\n" * lines


def test_finds_nothing_in_a_clean_tree(tmp_path: Path) -> None:
    assert (
        messages(tmp_path, {"src/headwater/a.py": function_of(40), "tests/unit/test_a.py": "x = 1\n"}) == []
    )


def test_finds_a_long_function_without_counting_its_docstring(tmp_path: Path) -> None:
    assert messages(tmp_path, {"src/headwater/a.py": function_of(40, docstring=True)}) == []
    assert messages(tmp_path, {"src/headwater/a.py": function_of(41)}) == ["f has 41 lines; at most 40"]


def test_finds_a_long_conftest_and_lets_modules_be_as_long_as_their_idea(tmp_path: Path) -> None:
    assert (
        messages(tmp_path, {"tests/conftest.py": "x = 1\n" * 150, "src/headwater/a.py": "x = 1\n" * 900})
        == []
    )
    (found,) = messages(tmp_path, {"tests/conftest.py": "x = 1\n" * 151})
    assert found.startswith("151 lines; at most 150")


@pytest.mark.parametrize("name", ["utils.py", "lake/spark_helpers.py", "common/words.py", "queue_manager.py"])
def test_finds_names_that_say_nothing(tmp_path: Path, name: str) -> None:
    assert len(messages(tmp_path, {f"src/headwater/{name}": ""})) == 1


@pytest.mark.parametrize(
    ("code", "home"),
    [
        ('KEY = "hoodie.table.name"\n', "lake/options.py"),
        ('def f(x):\n    return f"hoodie.{x}"\n', "lake/options.py"),
        ("def f(spark):\n    return spark._jvm.java\n", "lake/jvm.py"),
        ("def f(sc):\n    return sc._jsc\n", "lake/jvm.py"),
        ('import os\nHOME = os.environ["HOME"]\n', "config/environment.py"),
        ('import os\nHOME = os.getenv("HOME")\n', "config/environment.py"),
        ("from os import environ\n", "config/environment.py"),
        ("spark = SparkSession.builder.getOrCreate()\n", "lake/session.py"),
    ],
)
def test_finds_access_outside_the_module(tmp_path: Path, code: str, home: str) -> None:
    assert messages(tmp_path, {f"src/headwater/{home}": code}) == []
    assert len(messages(tmp_path, {"src/headwater/ingest/pipeline.py": code})) == 1


def test_lets_prose_and_tests_name_anything(tmp_path: Path) -> None:
    prose = '"""Sets hoodie.table.name."""\n\n# os.environ is not read here\nx = "os.environ"\n'
    test = 'import os\nx = os.environ["HOME"], "hoodie.table.name"\n'
    assert messages(tmp_path, {"src/headwater/ingest/a.py": prose, "tests/unit/test_a.py": test}) == []


def test_counts_suppressions_against_a_ceiling(tmp_path: Path) -> None:
    few = "x = 1  # noqa: E501\ny = 2  # type: ignore[misc]\n" * 2 + "z = 1  # pragma: no cover\n"
    assert messages(tmp_path, {"src/headwater/a.py": few, "src/headwater/b.py": 's = "# noqa"\n'}) == []
    found = messages(tmp_path, {"src/headwater/b.py": "x = 1  # noqa: E501\n"})
    assert found[-1] == "6 suppressions in 6 lines; at most 5: mend the code"


def test_exit_code_follows_the_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "src").mkdir()
    assert check_structure.main([str(tmp_path)]) == 0
    (tmp_path / "src" / "utils.py").touch()
    assert check_structure.main([str(tmp_path)]) == 1
    assert "utils.py:1:" in capsys.readouterr().out
