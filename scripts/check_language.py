"""Rejects home-made words for which the field has a term, in documents, comments, docstrings and messages.

`python scripts/check_language.py [ROOT]` prints one line a finding and exits 1 when there is one.
Standard library only. Code is not checked: blocks, inline code and link targets of Markdown, and everything
but comments and texts of Python. A string of Python without a space is a name or a value, not a text.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Files, or folders with all their Markdown and Python.
CHECKED_PATHS = ("README.md", "ARCHITECTURE.md", "docs", "src/headwater")

# Documents generated from `src`, which are checked there; and what shop customers say.
LEFT_OUT = frozenset(
    {
        "docs/reference/configuration.md",
        "docs/reference/hudi-options.md",
        "docs/reference/metrics.md",
        "src/headwater/rag/evaluation/shop/products.py",
        "src/headwater/rag/evaluation/shop/vocabulary.py",
    }
)

# Words that cannot change: public values in JSON and tables, and names of code. Matched text is not checked.
ALLOWED = (
    r"""["']vanished["']""",  # a count of `reconcile --json`, and a column of the table `reconciles`
    r"headwater:VanishedObject",  # an event name in every events table
)

REPLACEMENTS = {
    r"told|tells?|telling": "notified, reported, synced to, distinguished; (objects with) lost notifications",
    r"look(s|ed|ing)? (at|again|into|through|whether)|(a|has|have|had) look": (
        "read, re-read, HEAD, GET, list, inspect, check"
    ),
    r"listed by us|(has|have|had) shown": "observed by listing",
    r"vanish(es|ed|ing)?": "absent from the listing",
    r"wish(es)?": "intent; desired state",
    r"own events?(?! table)": "control event",
    r"lets? go|letting go|gone|(is|are) over(?! \d)": "retracted, superseded; deleted, does not exist",
    r"beside": "alongside, concurrently; while a run is active",
    r"anew": "re-created, rebuilt",
    r"cut short|br(ea|o)ks? off|broken? off|breaking off": "truncated, interrupted, aborted",
    r"lies?|lying|lay (there|in|at|under|below)": "is stored, the objects in a bucket",
    r"newest mark": "watermark",
    r"place in the (events|order)": "offset",
    r"places? of (an|the|a|its) (object|table|file)s?": "location, path",
    r"(a|the|its|their) presence": "lease, heartbeat",
    r"look(s|ed|ing)? after|upkeep|what is left to others": "maintained, table services, maintenance",
    r"damaged?|damaging": "corruption, corrupt; complete, intact",
    r"steps of (a|the|its) tables?|tables?'s? steps": "transforms",
    r"foreign": "other-bucket, external",
    r"doubtful|in doubt": "possibly duplicate, unconfirmed",
    r"meanwhile": "concurrently; in the meantime",
    r"(cannot|could not|can not) be had": "is unavailable, does not exist",
    r"nobody|somebody": "another process, another writer, no consumer",
    r"go(es|ing)? on|gone on|went on": "resumes, continues",
    r"(brings?|brought|bringing|takes?|taken|took|taking) in": "ingested, backfilled",
    r"mend(s|ed|ing)?": "fix, repair",
    r"mov(e|es|ed|ing) over": "migrate",
    r"slips? of the pen": "typo",
    r"as of before|the day before": "previous",
}

FENCED = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2[^\n]*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(
    r"(?<!`)(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)|\]\([^)\s]*\)|<https?://[^>\s]*>", re.DOTALL
)
QUESTION_HEADING = re.compile(r"^#+ What\b.*\b(is|are|was|were)\b.*$", re.MULTILINE)
HEADING_ADVICE = "an imperative or a noun phrase as heading"

# A line may end between two words: a comment's next one begins with '#', a string ends and another begins.
BETWEEN_WORDS = r"\\s*[\"']?\\s+(?:#\\s*|f?[\"'])?"
RULES = tuple(
    (re.compile(rf"\b(?:{re.sub(' ', BETWEEN_WORDS, words)})\b", re.IGNORECASE), advice)
    for words, advice in REPLACEMENTS.items()
)


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    words: str
    advice: str


def hide(match: re.Match[str]) -> str:
    """Text of the same length and lines in which no rule finds a word."""
    return re.sub(r"[^\n]", "~", match[0])


def find_words(path: str, text: str) -> Iterator[Finding]:
    """Findings of one file in the order of its lines; `path` names it and its ending says what is code."""
    rules = list(RULES)
    if path.endswith(".md"):
        text = FENCED.sub(hide, text)
        rules.append((QUESTION_HEADING, HEADING_ADVICE))
    else:
        text = keep_prose(text)
    text = INLINE.sub(hide, text)
    for allowed in ALLOWED:
        text = re.sub(allowed, hide, text)
    found = sorted(
        ((match, advice) for pattern, advice in rules for match in pattern.finditer(text)),
        key=lambda item: item[0].start(),
    )
    for match, advice in found:
        line = text.count("\n", 0, match.start()) + 1
        yield Finding(path, line, " ".join(match[0].split()), advice)


# One token up to Python 3.11; since 3.12 each text between two expressions is its own.
TEXT_TOKENS = frozenset({tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)})
EXPRESSION = re.compile(r"\{[^{}]*\}")


def keep_prose(code: str) -> str:
    """Return Python code with nothing but its comments and texts, each in its place."""
    lines = code.splitlines(keepends=True)
    kept = [re.sub(r"[^\n]", " ", line) for line in lines]
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if not (token.type == tokenize.COMMENT or (token.type in TEXT_TOKENS and " " in token.string)):
            continue
        (first, start), (last, end) = token.start, token.end
        for at in range(first - 1, last):
            begin, stop = start if at == first - 1 else 0, end if at == last - 1 else len(lines[at])
            kept[at] = kept[at][:begin] + EXPRESSION.sub(hide, lines[at][begin:stop]) + kept[at][stop:]
    return "".join(kept)


def list_files(root: Path) -> list[Path]:
    files = []
    for checked in CHECKED_PATHS:
        path = root / checked
        files += [path] if path.is_file() else [*path.rglob("*.md"), *path.rglob("*.py")]
    return sorted(file for file in files if str(file.relative_to(root)) not in LEFT_OUT)


def check(root: Path) -> list[Finding]:
    return [
        finding
        for file in list_files(root)
        for finding in find_words(str(file.relative_to(root)), file.read_text("utf-8"))
    ]


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    findings = check(root)
    for finding in findings:
        print(f"{finding.path}:{finding.line}: '{finding.words}': write instead: {finding.advice}")
    print(f"language: {len(findings)} findings" if findings else "language: good")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
