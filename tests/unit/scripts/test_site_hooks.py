"""The documentation site has a page for each link that leads out of docs/, and lists every decision."""

import pytest

import site_hooks

DOCS = site_hooks.DOCS


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return site_hooks.list_pages()


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("../tutorial.md", "../tutorial.md"),
        ("../../README.md#not-yet-supported", "../overview.md#not-yet-supported"),
        ("../../deploy/container/Containerfile", "../repository/deploy/container/Containerfile.md"),
        ("../../deploy/systemd", "../repository/deploy/systemd/index.md"),
        ("../decisions", "../decisions/index.md"),
        ("#here", "#here"),
        ("https://hudi.apache.org/docs", "https://hudi.apache.org/docs"),
        ("../no-such-page.md", "../no-such-page.md"),
    ],
)
def test_links_lead_to_the_page_of_their_file(link: str, page: str) -> None:
    text = f"A [link]({link})."
    assert site_hooks.rewrite_links(text, DOCS / "how-to", "how-to/some.md") == f"A [link]({page})."


def test_links_of_documents_of_the_repository_fit_their_place_in_the_site() -> None:
    text = "[tutorial](docs/tutorial.md), [license](LICENSE)"
    rewritten = site_hooks.rewrite_links(text, site_hooks.ROOT, "overview.md")
    assert rewritten == "[tutorial](tutorial.md), [license](repository/LICENSE.md)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see [install.md](install.md#when-an-extra-is-missing)", "Install only what you need"),
        ("see [docs/how-to/install.md](install.md)", "Install only what you need"),
        ("see [no-page.md](no-page.md)", "no-page.md"),
        ("see [extras](install.md)", "extras"),
    ],
)
def test_links_show_titles_instead_of_file_names(text: str, shown: str) -> None:
    assert f"see [{shown}](" in site_hooks.rewrite_links(text, DOCS / "how-to", "how-to/some.md")


def test_code_is_not_rewritten() -> None:
    text = "```markdown\n[a](../../README.md)\n```\n"
    assert site_hooks.rewrite_links(text, DOCS / "how-to", "how-to/some.md") == text


def test_every_decision_is_listed() -> None:
    files = {path.name for path in (DOCS / "decisions").glob("*.md")} - {"0000-template.md"}
    assert {name for name, _, _ in site_hooks.list_decisions()} == files


def test_every_linked_file_has_a_page(pages: dict[str, str]) -> None:
    missing = {
        str(path) for path in site_hooks.find_linked_paths() if site_hooks.find_page(path) not in pages
    }
    assert missing == set()
    assert pages["repository/deploy/container/Containerfile.md"].startswith(
        "# deploy/container/Containerfile\n"
    )


def test_a_folder_is_shown_with_all_its_files() -> None:
    text = site_hooks.show_path(site_hooks.ROOT / "deploy/systemd")
    names = sorted(path.name for path in (site_hooks.ROOT / "deploy/systemd").iterdir() if path.is_file())
    assert names
    assert all(f"## {name}\n" in text for name in names)


def test_messages_are_listed_with_their_fix_and_names_for_values() -> None:
    messages = site_hooks.list_messages()
    assert (
        "UsageError",
        "--mermaid and --json are mutually exclusive",
        "specify only one of them",
    ) in messages
    assert any(message == "FILE: not UTF-8" for _, message, _ in messages)
    assert len(messages) > 400


def test_the_page_of_messages_has_a_table_for_each_error_without_markup_in_texts(
    pages: dict[str, str],
) -> None:
    page = pages[site_hooks.MESSAGES_PAGE]
    assert "\n## CredentialsError\n\n| message | fix |" in page
    assert "AWS\\_PROFILE" in page


def test_bars_in_the_code_of_a_cell_need_no_escape_on_the_site() -> None:
    cell = r"<td><code>s3\|gcs</code> or \|</td>"
    assert site_hooks.unescape_bars(cell) == r"<td><code>s3|gcs</code> or \|</td>"
    assert site_hooks.unescape_bars(r"<p><code>a\|b</code></p>") == r"<p><code>a\|b</code></p>"


@pytest.mark.parametrize(
    ("text", "indented"),
    [
        ("- a\n  b\n\n  c", "- a\n    b\n\n    c"),
        ("1. a\n   - b", "1. a\n    - b"),
        (
            "- a\n\n  ```yaml\n  b:\n    - c\n  ```\n- d",
            "- a\n\n    ```yaml\n    b:\n      - c\n    ```\n- d",
        ),
        ("- a\n\nb\n  c", "- a\n\nb\n  c"),
        ("```yaml\n- a: 1\n  b: 2\n```", "```yaml\n- a: 1\n  b: 2\n```"),
    ],
)
def test_contents_of_list_items_are_indented_as_the_site_reads_them(text: str, indented: str) -> None:
    assert site_hooks.indent_lists(text) == indented
