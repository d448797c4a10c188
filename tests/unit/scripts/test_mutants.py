"""Every mutation still applies, still is Python, and names tests that are there."""

import ast
from pathlib import Path

import pytest

import mutants
from mutants import ROOT, Mutation, Tree, read_mutations

MUTATIONS = read_mutations()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_applies(mutation: Mutation) -> None:
    source = (ROOT / mutation.file).read_text("utf-8")
    mutated = mutation.apply(source)
    assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(source))
    paths = [word for word in mutation.tests if word.startswith("tests/")]
    assert paths
    assert all((ROOT / path).exists() for path in paths)


def test_there_are_enough_of_them() -> None:
    assert len(MUTATIONS) >= 60


def test_missing_or_ambiguous_original_is_rejected() -> None:
    mutation = Mutation("m", "f.py", "a", "b", ("tests",))
    assert mutation.apply("1a1") == "1b1"
    for source in ("", "aa"):
        with pytest.raises(ValueError, match="not once"):
            mutation.apply(source)


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ("assert product.double(2) == 4", "killed"),
        ("assert product.double(0) == 0", "survived"),
        ("import nothing_of_that_name", "killed"),
    ],
)
def test_a_mutation_is_tried_and_taken_back(tmp_path: Path, test: str, verdict: str) -> None:
    (tmp_path / "src").mkdir()
    product = tmp_path / "src/product.py"
    product.write_text("def double(x):\n    return x * 2\n")
    (tmp_path / "test_product.py").write_text(f"def test():\n    import product\n    {test}\n")
    mutation = Mutation("m", "src/product.py", "x * 2", "x * 3", ("test_product.py",))
    result = Tree(tmp_path).try_mutation(mutation)
    assert result.verdict == verdict, result.output
    assert product.read_text() == "def double(x):\n    return x * 2\n"


def test_a_mutation_whose_tests_are_not_run_is_not_killed(tmp_path: Path) -> None:
    (tmp_path / "product.py").write_text("x = 1\n")
    mutation = Mutation("m", "product.py", "1", "2", ("no_such_test.py",))
    assert Tree(tmp_path).try_mutation(mutation).verdict.startswith("not tried")


def test_only_files_of_the_tree_are_copied(tmp_path: Path) -> None:
    assert "scripts/mutants.py" in set(mutants.list_files(ROOT))
    assert not any(name.startswith(".venv/") for name in mutants.list_files(ROOT))
