"""Checks what linters do not know: sizes, names, where each outside thing may be touched, suppressions.

`python scripts/check_structure.py [ROOT]` prints one line a finding and exits 1 when there is one.
Standard library only. The rules are explained in ARCHITECTURE.md.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_FUNCTION_LINES = 40
MAX_CONFTEST_LINES = 150
# Suppressions a thousand lines; a small tree may have a handful whatever its size.
MAX_SUPPRESSIONS_PER_KLOC = 3.0
MIN_SUPPRESSIONS_ALLOWED = 5

CHECKED_FOLDERS = ("src", "tests", "benchmarks", "simulator", "scripts", "examples")
BANNED_NAMES = frozenset(
    {
        "util",
        "utils",
        "helper",
        "helpers",
        "manager",
        "managers",
        "common",
        "base",
        "handler",
        "handlers",
        "info",
    }
)
SUPPRESSION = re.compile(r"#\s*(noqa|type:\s*ignore|pragma:\s*no cover|ruff:\s*noqa|mypy:\s*ignore)")


@dataclass(frozen=True)
class Finding:
    path: Path
    line: int
    message: str


@dataclass(frozen=True)
class Module:
    """A parsed file; `path` is relative to the root."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def in_package(self) -> str:
        """Path below src/headwater, empty for a file elsewhere."""
        parts = self.path.parts
        return "/".join(parts[2:]) if parts[:2] == ("src", "headwater") else ""


def list_modules(root: Path) -> list[Module]:
    paths = [path for folder in CHECKED_FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    return [
        Module(path.relative_to(root), text, ast.parse(text, filename=str(path)))
        for path in paths
        for text in [path.read_text("utf-8")]
    ]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its signature and its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def check_sizes(module: Module) -> Iterator[Finding]:
    lines = module.text.count("\n")
    if module.path.name == "conftest.py" and lines > MAX_CONFTEST_LINES:
        yield Finding(module.path, 1, f"{lines} lines; at most {MAX_CONFTEST_LINES}: split it by topic")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and body_lines(node) > MAX_FUNCTION_LINES:
            size = body_lines(node)
            yield Finding(
                module.path, node.lineno, f"{node.name} has {size} lines; at most {MAX_FUNCTION_LINES}"
            )


def check_name(module: Module) -> Iterator[Finding]:
    for part in (*module.path.parts[:-1], module.path.stem):
        banned = BANNED_NAMES.intersection(part.split("_"))
        if banned:
            yield Finding(module.path, 1, f"{part!r} says nothing; name it after what is in it")


def is_os_environ(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom) and node.module == "os":
        return any(name.name in {"environ", "getenv"} for name in node.names)
    return isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.environ", "os.getenv"}


def is_jvm_access(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in {"_jvm", "_jsc", "_jsparkSession", "_jwrite"}


def is_session_builder(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "SparkSession.builder"


def is_hoodie_key(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "hoodie." in node.value


# What may be touched only in some places below src/headwater: test, places, what to say.
PLACES: tuple[tuple[Callable[[ast.AST], bool], tuple[str, ...], str], ...] = (
    # config/: the escape hatch is described and checked there, so its prefix is named.
    (
        is_hoodie_key,
        ("lake/options.py", "lake/typed_options/", "config/table/", "config/hudi/", "config/streamer/"),
        "`hoodie.` keys are spelled in lake/options.py and lake/typed_options/ only",
    ),
    (is_jvm_access, ("lake/jvm.py",), "the JVM is reached from lake/jvm.py only"),
    (is_os_environ, ("config/",), "the environment is read in config/ only; take it as a parameter"),
    (is_session_builder, ("lake/session.py",), "the session is built in lake/session.py only"),
)


def docstrings(tree: ast.Module) -> set[int]:
    """Ids of the constants that are docstrings (of anything: attributes too): prose may say all."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def check_places(module: Module) -> Iterator[Finding]:
    if not module.in_package:
        return
    prose = docstrings(module.tree)
    for test, places, message in PLACES:
        if module.in_package.startswith(places):
            continue
        for node in ast.walk(module.tree):
            if id(node) not in prose and test(node):
                yield Finding(module.path, getattr(node, "lineno", 1), message)


def list_suppressions(module: Module) -> list[Finding]:
    """Comments that silence a tool; the words inside strings do not count."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return [
        Finding(module.path, token.start[0], token.string)
        for token in tokens
        if token.type == tokenize.COMMENT and SUPPRESSION.search(token.string)
    ]


def check_suppressions(modules: list[Module]) -> Iterator[Finding]:
    found = [finding for module in modules for finding in list_suppressions(module)]
    lines = sum(module.text.count("\n") for module in modules)
    allowed = max(MIN_SUPPRESSIONS_ALLOWED, int(lines / 1000 * MAX_SUPPRESSIONS_PER_KLOC))
    if len(found) > allowed:
        yield from found
        yield Finding(
            Path(), 0, f"{len(found)} suppressions in {lines} lines; at most {allowed}: mend the code"
        )


def check(root: Path) -> list[Finding]:
    modules = list_modules(root)
    findings = [
        finding
        for module in modules
        for rule in (check_sizes, check_name, check_places)
        for finding in rule(module)
    ]
    return [*findings, *check_suppressions(modules)]


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    findings = check(root)
    for finding in findings:
        print(f"{finding.path}:{finding.line}: {finding.message}")
    print(f"structure: {len(findings)} findings" if findings else "structure: good")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
