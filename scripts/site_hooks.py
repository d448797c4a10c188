"""What the documentation site has in addition to docs/: decisions, error messages, files of the repository.

MkDocs calls the functions named `on_*`. Pages of docs/ are also read in a browser of the repository, where a
link may lead out of docs/. The site has a page for each such file, so that no link needs another host.
"""

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SOURCE = ROOT / "src/headwater"
DECISIONS = "Decisions"
MESSAGES_PAGE = "reference/error-messages.md"
MESSAGES_HEAD = """# Error messages and their fixes

The messages in the source code with the hint of each. Words in capitals are replaced by values,
such as a path or a name. [Errors](errors.md) explains the kinds and their exit codes.
"""
# Documents of the repository that are pages of the site.
ROOT_PAGES = {
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
GENERATED_PAGES = {page: name for name, page in ROOT_PAGES.items()}
LINK = re.compile(r"(\]\()(?!https?://|mailto:|#)([^)\s#]*)(#[^)\s]*)?(\))")
# A link whose text is a file name, such as [install.md](install.md).
FILE_NAME = re.compile(r"\[([\w./-]+\.md)\](?=\(([^)\s#]+))")
FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2[^\n]*$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"# (\d{4})\W+(.+)")
ITEM = re.compile(r"(?:[-*] +|\d+\. +)(?=\S)")
CELL = re.compile(r"<td[ >].*?</td>", re.DOTALL)
CODE = re.compile(r"<code>[^<]*</code>")
LANGUAGES = {".md": "markdown", ".tf": "terraform", ".yaml": "yaml", ".yml": "yaml"}
# Names in expressions that say nothing about the value.
_PLAIN = frozenset(
    {"self", "str", "repr", "join", "sorted", "format", "f", "r", "type", "name__", "strip", "len"}
)
# A code block of a file that has code blocks itself.
FENCE = "`````"


def list_decisions() -> list[tuple[str, str, str]]:
    """Return file name, number and title of each decision."""
    found = []
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        match = TITLE.match(path.read_text("utf-8"))
        if match and match[1] != "0000":
            found.append((path.name, match[1], match[2]))
    return found


def find_page(target: Path) -> str | None:
    """Return the page of the site that shows a file or a folder of the repository; None if none does."""
    if not target.is_relative_to(ROOT) or not target.exists():
        return None
    name = target.relative_to(ROOT).as_posix()
    if name in ROOT_PAGES:
        return ROOT_PAGES[name]
    if target == DOCS / "decisions":
        return "decisions/index.md"
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    return f"repository/{name}/index.md" if target.is_dir() else f"repository/{name}.md"


def rewrite_links(text: str, folder: Path, page: str) -> str:
    """Return the Markdown of a page with links that fit the site; `folder` is that of the text's file.

    A link whose text is the name of a page gets the page's title as text: the site shows no file names.
    """

    def name(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        heading = target.read_text("utf-8").partition("\n")[0] if target.is_file() else ""
        return f"[{heading[2:]}]" if heading.startswith("# ") else match[0]

    def replace(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        found = find_page(target)
        if found is None:
            return match[0]
        link = posixpath.relpath(found, posixpath.dirname(page) or ".")
        return f"{match[1]}{link}{match[3] or ''}{match[4]}"

    def rewrite(part: str) -> str:
        return LINK.sub(replace, FILE_NAME.sub(name, part))

    parts, end = [], 0
    for block in FENCED.finditer(text):
        parts += [rewrite(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, rewrite(text[end:])])


def find_linked_paths() -> set[Path]:
    """Return the files and folders outside docs/ that pages of the site link to."""
    sources = [*DOCS.rglob("*.md"), *(ROOT / name for name in GENERATED_PAGES.values())]
    found = set()
    for source in sources:
        for match in LINK.finditer(FENCED.sub("", source.read_text("utf-8"))):
            target = (source.parent / match[2]).resolve()
            page = find_page(target) or ""
            if page.startswith("repository/"):
                found.add(target)
    return found


def show_path(path: Path) -> str:
    """Return a page with a file, or with all files of a folder."""
    lines = [f"# {path.relative_to(ROOT).as_posix()}\n"]
    for file in _iter_files(path):
        if path.is_dir():
            lines.append(f"## {file.relative_to(path).as_posix()}\n")
        language = LANGUAGES.get(file.suffix, "text")
        lines.append(f"{FENCE}{language}\n{file.read_text('utf-8').rstrip()}\n{FENCE}\n")
    return "\n".join(lines)


def _iter_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    yield from (file for file in files if "__pycache__" not in file.parts)


def list_messages() -> list[tuple[str, str, str]]:
    """Return error, message and hint of each error that is raised with a hint, in the order of errors.py."""
    tree = ast.parse((SOURCE / "errors.py").read_text("utf-8"))
    kinds = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            hints = [keyword.value for keyword in node.keywords if keyword.arg == "hint"]
            message, hint = _read_text(node.args[0]), _read_text(hints[0]) if hints else ""
            if node.func.id in kinds and message and hint:
                found.add((node.func.id, message, hint))
    return sorted(found, key=lambda row: (kinds.index(row[0]), row[1].lower(), row[2]))


def _read_text(node: ast.expr) -> str:
    """Return a literal text, with names in capitals for its values; empty if it is none."""
    if isinstance(node, ast.Constant):
        return " ".join(str(node.value).split())
    if isinstance(node, ast.JoinedStr):
        return " ".join("".join(map(_read_part, node.values)).split())
    return ""


def _read_part(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    # The last name of an expression says most: `self._config.path`, `len(names)`, `error.message`.
    names = re.findall(r"[A-Za-z]\w*", ast.unparse(node).replace("_", " ").replace(" ", "_"))
    words = [name for name in names if name not in _PLAIN]
    return words[-1].strip("_").upper() if words else "VALUE"


def show_messages() -> str:
    """Return the page with all messages: a table for each error."""
    lines, last = [MESSAGES_HEAD], ""
    for kind, message, hint in list_messages():
        if kind != last:
            lines += [f"\n## {kind}\n", "| message | fix |", "| --- | --- |"]
            last = kind
        lines.append(f"| {_escape_cell(message)} | {_escape_cell(hint)} |")
    return "\n".join(lines) + "\n"


def _escape_cell(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", text.replace("|", "\\|"))
    return "".join(part if part.startswith("`") else re.sub(r"([*_\[\]<])", r"\\\1", part) for part in parts)


def list_pages() -> dict[str, str]:
    """Return the text of each page that is not a file in docs/, by its path in the site."""
    pages = {
        page: rewrite_links((ROOT / name).read_text("utf-8"), ROOT, page)
        for page, name in GENERATED_PAGES.items()
    }
    rows = [f"| [{number}]({name}) | {title} |" for name, number, title in list_decisions()]
    head = (
        "Why headwater is as it is: each page states a question, the decision, and the figures behind it.\n"
    )
    pages["decisions/index.md"] = "\n".join(
        ["# Decisions\n", head, "| number | decision |", "| --- | --- |", *rows, ""]
    )
    pages[MESSAGES_PAGE] = show_messages()
    return pages | {find_page(path) or "": show_path(path) for path in find_linked_paths()}


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    """Append the decisions to the navigation."""
    pages: list[Any] = [
        {f"{number} {title}": f"decisions/{name}"} for name, number, title in list_decisions()
    ]
    for section in config.nav or []:
        if DECISIONS in section:
            section[DECISIONS] = section[DECISIONS] + pages
    return config


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages that are not files in docs/."""
    from mkdocs.structure.files import File

    for page, text in list_pages().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Let links out of docs/ lead to the page of that file, and indent lists as MkDocs reads them."""
    del config, files
    source = page.file.src_uri
    if (DOCS / source).exists():
        markdown = rewrite_links(markdown, (DOCS / source).parent, source)
    return indent_lists(markdown)


def indent_lists(text: str) -> str:
    """Return Markdown whose list items have a content indented by four, as MkDocs expects: `- ` has two."""
    lines, width, is_fenced = [], 0, False
    for line in text.split("\n"):
        item = ITEM.match(line)
        if line.startswith("```"):
            is_fenced, width = not is_fenced, 0
        elif not is_fenced and item:
            width = len(item[0])
        elif width and line.startswith(" " * width):
            lines.append(f"    {line[width:]}")
            continue
        elif line.strip():
            # Text at the margin continues its item only if it follows at once.
            width = width if width and lines and lines[-1].strip() and not line.startswith("#") else 0
        lines.append(line)
    return "\n".join(lines)


def on_page_content(html: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Show `\\|` in the code of a table as `|`, as a browser of the repository does."""
    del page, config, files
    return unescape_bars(html)


def unescape_bars(html: str) -> str:
    r"""Return the page with `|` for `\|` in code in the cells of tables."""
    return CELL.sub(lambda cell: CODE.sub(lambda code: code[0].replace("\\|", "|"), cell[0]), html)
