"""Reads HoodieStreamer's command lines and properties files."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from pathlib import Path

from headwater.errors import UsageError

_COMMAND = re.compile(r"Hoodie(Delta)?Streamer\b|--target-base-path\b")
_INCLUDE = re.compile(r"include\s*=\s*(.+)")
_CONTINUED = re.compile(r"\\\r?\n")
_PUNCTUATION = re.compile(r"[();<>|&]+")
_MOST_INCLUDES = 10

SWITCHES = frozenset(
    {
        "allow-commit-on-no-checkpoint-change",
        "bootstrap-overwrite",
        "commit-on-errors",
        "continuous",
        "disable-compaction",
        "enable-hive-support",
        "enable-hive-sync",
        "enable-sync",
        "filter-dupes",
        "force-empty-sync",
        "help",
        "retry-last-pending-inline-clustering",
        "retry-last-pending-inline-compaction",
        "retry-on-source-failures",
        "run-bootstrap",
    }
)
"""Flags of HoodieStreamer without a value."""
ALIASES: Mapping[str, str] = {
    "source-ordering-field": "source-ordering-fields",
    "record-merge-mode": "merge-mode",
    "record-merge-strategy-id": "merge-strategy-id",
    "record-merge-custom-implementation-classes": "merge-impl-classes",
}
_LISTS = frozenset({"transformer-class"})
"""Flags that may be repeated."""
_SHORT = {"-rc": "--retry-last-pending-inline-clustering", "-c": "--conf", "-h": "--help"}
_SPARK_SWITCHES = frozenset({"verbose", "supervise", "version", "help", "usage-error"})


@dataclass(frozen=True, slots=True)
class StreamerJob:
    """One HoodieStreamer: `flags` without dashes, `properties`, and the options of its `spark-submit`.

    `origin` is the file that has it.
    """

    origin: Path
    flags: Mapping[str, str]
    properties: Mapping[str, str]
    spark: Mapping[str, str]


def read_jobs(paths: Sequence[Path]) -> list[StreamerJob]:
    """Read files with commands, and properties files; one that no command names is a job of its own.

    Raises `UsageError` for a file that cannot be read, or that is named but missing.
    """
    texts = {path: _read(path) for path in paths}
    commands = [path for path in paths if _COMMAND.search(texts[path])]
    jobs: list[StreamerJob] = []
    used: set[Path] = set()
    for path in commands:
        for words in _split_commands(path, texts[path]):
            flags, overrides, spark = _parse(path, words)
            properties: dict[str, str] = {}
            if "props" in flags:
                found = _find_properties(path, flags.pop("props"), paths)
                used.add(found)
                properties |= read_properties(found)
            jobs.append(StreamerJob(path, flags, properties | overrides, spark))
    jobs += [
        StreamerJob(path, {}, read_properties(path), {})
        for path in paths
        if path not in commands and path.absolute() not in used
    ]
    return jobs


def read_properties(path: Path, depth: int = 0) -> dict[str, str]:
    """Read properties with the rules of Hudi: the first `=` ends a key, and `include=` names another file."""
    found: dict[str, str] = {}
    for line in map(str.strip, _read(path).splitlines()):
        if line.startswith("#") or "=" not in line:
            continue
        include = _INCLUDE.fullmatch(line)
        if include and depth >= _MOST_INCLUDES:
            raise UsageError(f"{path}: includes are nested too deeply", hint="do they include each other?")
        if include:
            found |= read_properties(_find_properties(path, include[1], ()), depth + 1)
        else:
            key, _, value = line.partition("=")
            found[key.strip()] = value.strip()
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise UsageError(
            f"cannot read {path}: {why}",
            hint="give files with spark-submit commands, and properties files",
        ) from error


def _find_properties(beside: Path, name: str, given: Sequence[Path]) -> Path:
    """Find a named file: among the given ones by its name, else relative to the file that names it."""
    wanted = Path(name.removeprefix("file://"))
    by_name = next((path for path in given if path.name == wanted.name), None)
    for found in (by_name, beside.parent / wanted, beside.parent / wanted.name):
        if found is not None and found.is_file():
            return found.absolute()
    raise UsageError(
        f"{beside} names the properties file {name}, which does not exist here",
        hint=f"copy it, and give it, too: headwater config import {beside} {wanted.name}",
    )


def _split_commands(path: Path, text: str) -> Iterator[list[str]]:
    for line in _CONTINUED.sub(" ", text).splitlines():
        if not _COMMAND.search(line) or line.lstrip().startswith("#"):
            continue
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        # Its own rule for comments would cut words such as `20260501#key`.
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            words = list(takewhile(lambda word: not word.startswith("#"), lexer))
        except ValueError as error:
            raise UsageError(
                f"{path} has a command that no shell can read: {error}: {line.strip()[:100]}",
                hint="close its quotes",
            ) from error
        # Redirections and further commands begin with punctuation.
        for is_punctuation, group in groupby(words, lambda word: _PUNCTUATION.fullmatch(word) is not None):
            command = list(group)
            if not is_punctuation and any(map(_COMMAND.search, command)):
                yield command


def _parse(path: Path, words: Sequence[str]) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return HoodieStreamer's flags, its properties, and the options of `spark-submit`."""
    begin, end = _find_spark_options(words)
    spark: dict[str, str] = {}
    for name, value in _iter_flags(path, words[begin:end], _SPARK_SWITCHES):
        key = value.partition("=")[0] if name == "conf" else name
        spark[key] = value.partition("=")[2] if name == "conf" else value
    flags: dict[str, str] = {}
    overrides: dict[str, str] = {}
    for flag, value in _iter_flags(path, words[end:], SWITCHES):
        name = ALIASES.get(flag, flag)
        if name == "hoodie-conf":
            key, _, text = value.partition("=")
            overrides[key.strip()] = text.strip()
        else:
            flags[name] = f"{flags[name]},{value}" if name in flags and name in _LISTS else value
    return flags, overrides, spark


def _find_spark_options(words: Sequence[str]) -> tuple[int, int]:
    """Return where the options of `spark-submit` begin and end: before its first other word."""
    begin = next((at + 1 for at, word in enumerate(words) if word.rpartition("/")[2] == "spark-submit"), 0)
    at = begin
    while begin and at < len(words) and words[at].startswith("-"):
        at += 1 if "=" in words[at] or words[at].lstrip("-") in _SPARK_SWITCHES else 2
    return begin, at


def _iter_flags(path: Path, words: Sequence[str], switches: frozenset[str]) -> Iterator[tuple[str, str]]:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        word = _SHORT.get(word, word)
        if not word.startswith("--"):
            continue
        name, sign, value = word[2:].partition("=")
        if sign:
            yield name, value
        elif name in switches:
            yield name, "true"
        elif rest:
            yield name, rest.pop(0)
        else:
            raise UsageError(f"{path}: {word} has no value", hint="complete the command")
