"""The language check reports the glossary's left column with its line, and nothing else."""

from pathlib import Path

import pytest

import check_language


def found(text: str, path: str = "docs/page.md") -> list[tuple[int, str]]:
    return [(finding.line, finding.words) for finding in check_language.find_words(path, text)]


def test_reports_the_words_with_their_line_and_a_replacement() -> None:
    (finding,) = check_language.find_words("docs/page.md", "# Sync\n\nCatalogs are told of each commit.\n")
    assert (finding.path, finding.line, finding.words) == ("docs/page.md", 3, "told")
    assert "synced to" in finding.advice


def test_accepts_the_right_column() -> None:
    assert found("# Sync a table\n\nSyncs the table to the catalogs after each commit.\n") == []


@pytest.mark.parametrize(
    "sentence",
    [
        "it looks\nagain at the object",
        "the pass broke off",
        "what lies in a bucket",
        "a damaged file",
        "another run goes on",
        "new columns are taken in",
        "Nobody reads it",
    ],
)
def test_reports_home_made_words(sentence: str) -> None:
    assert [line for line, _ in found(f"\n{sentence}\n")][:1] == [2]


@pytest.mark.parametrize(
    "sentence",
    ["look up a key", "besides", "a wholesale change", "belief", "recommended", "the following steps"],
)
def test_accepts_words_that_only_resemble_them(sentence: str) -> None:
    assert found(sentence) == []


def test_skips_code_in_markdown_and_keeps_the_lines_after_it() -> None:
    text = "```sh\nheadwater run # goes on\n```\n`vanished` of [it](look-after-a-table.md)\n\nIt goes on.\n"
    assert found(text) == [(6, "goes on")]
    assert found("between ```` ```beside ```` and `vanished`\n\n`x` goes\non `lies`\n") == [(3, "goes on")]


def test_headings_are_no_questions_without_a_question_mark() -> None:
    assert found("## What is made\n\nWhat is made is listed.\n") == [(1, "## What is made")]


CODE = '''"""Tables are

created anew."""
# a pass is cut
# short
STATUS = "vanished"
REASON = f"it goes on with {nobody} and is looked "
"at again"
def mend():
    """Say `mend`."""
    return "mend"  # mended
'''


def test_checks_comments_docstrings_and_messages_of_python_and_no_names() -> None:
    wanted = [(3, "anew"), (4, "cut # short"), (7, "goes on"), (7, "looked at"), (11, "mended")]
    # Since Python 3.12, the quotes of an f-string are tokens of their own.
    listed = [
        (line, " ".join(word.replace('"', " ").split())) for line, word in found(CODE, "src/headwater/a.py")
    ]
    assert listed == wanted


def test_checks_only_the_paths_of_its_constant(tmp_path: Path) -> None:
    for name in ("README.md", "docs/how-to/a.md", "docs/reference/metrics.md", "tests/a.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("nobody\n")
    assert [finding.path for finding in check_language.check(tmp_path)] == ["README.md", "docs/how-to/a.md"]
    assert check_language.main([str(tmp_path)]) == 1


@pytest.mark.slow  # `make check-language` does the same
def test_the_documents_of_headwater_are_clean() -> None:
    assert check_language.check(Path(__file__).parents[3]) == []
