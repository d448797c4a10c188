"""Detects how the records of JSON files follow each other. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from headwater.app.inspection.encoding import decode, detect_encoding
from headwater.app.inspection.findings import Findings
from headwater.app.inspection.sampled_rows import MOST_ROWS, SampledRows, from_records
from headwater.app.inspection.sampling import SampledFile

Layout = Literal["lines", "array", "document", "one line", "unreadable"]


@dataclass(frozen=True, slots=True)
class _Parsed:
    layout: Layout
    records: Sequence[Mapping[str, Any]] = ()
    bad: int = 0


def inspect_json(files: Sequence[SampledFile], findings: Findings) -> list[SampledRows]:
    """Add format and options, and what is uncertain about them; return the rows."""
    encoding = detect_encoding(files)
    if encoding.name:
        findings.set_option("encoding", encoding.name, encoding.check)
    parsed = {file.listed.key: _parse(decode(file, encoding.name), file) for file in files}
    _choose_format(parsed, findings)
    bad = sum(one.bad for one in parsed.values())
    if bad:
        findings.check(
            "path", f"lines that are no JSON objects, in the files read: {bad:,}. They go to quarantine."
        )
    unreadable = [key for key, one in parsed.items() if one.layout == "unreadable"]
    if unreadable:
        findings.check("path", f"{unreadable[0]} is not JSON; it goes to quarantine.")
    return [
        from_records(key, one.records, is_complete=_is_complete(files, key) and len(one.records) < MOST_ROWS)
        for key, one in parsed.items()
        if one.records
    ]


def _choose_format(parsed: Mapping[str, _Parsed], findings: Findings) -> None:
    layouts = {one.layout for one in parsed.values()} - {"unreadable"}
    if "array" in layouts and "lines" not in layouts:
        findings.format = "json_array"
    elif "document" in layouts or "array" in layouts:
        check = ""
        if "lines" in layouts:
            check = "some files have a record per line, others one document; a bad line rejects its file."
        findings.set_option("multiLine", "true", check)
    for one in parsed.values():
        lists = (
            [name for name, value in one.records[0].items() if _is_list_of_rows(value)] if one.records else []
        )
        if one.layout in ("document", "one line") and len(one.records) == 1 and len(lists) == 1:
            findings.check(
                "path",
                f"each file is one row with a list, `{lists[0]}`. For one row per element, add "
                f"`transform: [{{flatten: {{explode: {lists[0]}}}}}]`.",
            )
            return


def _is_list_of_rows(value: object) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(item, dict) for item in value)


def _is_complete(files: Sequence[SampledFile], key: str) -> bool:
    return next(file.is_complete for file in files if file.listed.key == key)


def _parse(text: str, file: SampledFile) -> _Parsed:
    stripped = text.lstrip("\ufeff \t\r\n")
    if not stripped:
        return _Parsed("unreadable")
    if stripped.startswith("["):
        document = _load(stripped)
        rows = [item for item in document if isinstance(item, dict)] if isinstance(document, list) else []
        return _Parsed("array", rows[:MOST_ROWS]) if rows or not file.is_complete else _Parsed("unreadable")
    lines = [line for line in stripped.split("\n") if line.strip()]
    if not file.is_complete and len(lines) > 1:
        lines.pop()
    loaded = [_load(line) for line in islice(lines, MOST_ROWS)]
    rows = [one for one in loaded if isinstance(one, dict)]
    if isinstance(loaded[0], dict) or not file.is_complete:
        return _Parsed("one line" if len(loaded) == 1 else "lines", rows, len(loaded) - len(rows))
    documents = _load_all(stripped)
    if documents:
        return _Parsed("lines" if len(lines) == 1 else "document", documents)
    return _Parsed("lines", rows, len(loaded) - len(rows)) if rows else _Parsed("unreadable")


def _load_all(text: str) -> list[dict[str, Any]]:
    """Return the documents of a text, without line ends between them or with several; empty if one is bad."""
    decoder, at = json.JSONDecoder(strict=False), 0
    found: list[dict[str, Any]] = []
    while at < len(text) and len(found) < MOST_ROWS:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip()) if text[at : at + 1].isspace() else 0
    return found


def _load(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
