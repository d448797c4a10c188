"""Detects delimiter, header, quotes and encoding of CSV files. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from headwater.app.inspection.encoding import decode, detect_encoding
from headwater.app.inspection.findings import Findings
from headwater.app.inspection.sampled_rows import MOST_ROWS, SampledRows, from_fields
from headwater.app.inspection.sampling import SampledFile
from headwater.ingest.formats.csv import name_columns
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.csv_header import detect_header
from headwater.ingest.formats.csv_records import read_records
from headwater.ingest.formats.markers import MARKER

_DELIMITERS = (",", ";", "\t", "|")
_HEAD_RECORDS = 200
_HEAD_CHARS = 1_000_000
_ENOUGH = 0.9
_NAME = re.compile(r"[^\W\d][\w .#/()%-]{0,63}")
_STRICT = CsvDialect(is_strict=True)
_COMMENT = "#"


@dataclass(frozen=True, slots=True)
class _Score:
    """How well a delimiter fits: the share of records with the most frequent number of fields in their file.

    `fields` is that number in most records. Files may have other columns than earlier ones.
    """

    delimiter: str
    share: float
    fields: int


def inspect_csv(files: Sequence[SampledFile], findings: Findings) -> list[SampledRows]:
    """Add the reader's options, and what is uncertain about them; return the rows."""
    encoding = detect_encoding(files)
    texts = {file.listed.key: (_cut(decode(file, encoding.name), file), file) for file in files}
    heads = [text[:_HEAD_CHARS] for text, _ in texts.values() if text.strip()]
    commented = _detect_comment(heads, findings)
    dialect = _detect_escape(heads, _detect_delimiter(heads, commented, findings), findings)
    records = {key: _read(text, dialect) for key, (text, _) in texts.items()}
    records = {key: found for key, found in records.items() if found}
    header = _detect_header(dialect, list(records.values()), findings)
    if encoding.name:
        findings.set_option("encoding", encoding.name, encoding.check)
    return [_to_rows(key, dialect, found, texts[key][1], header=header) for key, found in records.items()]


def _cut(text: str, file: SampledFile) -> str:
    """Remove a record that the end of the read bytes truncates."""
    return text if file.is_complete else text.rpartition("\n")[0]


def _read(text: str, dialect: CsvDialect) -> list[str]:
    _, records = read_records(text, dialect)
    return [one for one in records[: MOST_ROWS + 1] if not one.startswith(MARKER)]


def _detect_comment(heads: Sequence[str], findings: Findings) -> CsvDialect:
    """Skip lines that begin with `#` if only the other records have a delimiter's number of fields.

    A line of names may begin with `#`, too.
    """
    if not any(head.startswith(_COMMENT) or f"\n{_COMMENT}" in head for head in heads):
        return _STRICT
    dialect = replace(_STRICT, comment=_COMMENT)
    best = max(
        (_score(heads, dialect, delimiter) for delimiter in _DELIMITERS),
        key=lambda one: (one.fields > 1, one.share, one.fields),
    )
    plain = replace(_STRICT, delimiter=best.delimiter)
    skipped = [one for head in heads for one in read_records(head, plain)[1] if one.startswith(_COMMENT)]
    has_names = any(len(plain.split(one)) == best.fields for one in skipped)
    if not skipped or best.fields == 1 or best.share < _ENOUGH or has_names:
        return _STRICT
    lines = "1 line begins" if len(skipped) == 1 else f"{len(skipped):,} lines begin"
    findings.set_option(
        "comment", _COMMENT, f"{lines} with `#`, such as `{skipped[0][:40]}`: comments are skipped."
    )
    return dialect


def _detect_delimiter(heads: Sequence[str], dialect: CsvDialect, findings: Findings) -> CsvDialect:
    scores = [_score(heads, dialect, delimiter) for delimiter in _DELIMITERS]
    good = sorted(
        (one for one in scores if one.fields > 1 and one.share >= _ENOUGH),
        key=lambda one: (-one.share, -one.fields),
    )
    if not good:
        several = max(scores, key=lambda one: (one.fields > 1, one.share))
        if several.fields > 1 and several.share > 1 / 2:
            findings.check(
                "options",
                f"{several.share:.0%} of the records have {several.fields} fields if {_show(several)} "
                "separates them: set `sep` if it does.",
            )
        return dialect
    best = good[0]
    others = [one for one in good[1:] if one.share == best.share]
    check = ""
    if best.share < 1:
        check = (
            f"{1 - best.share:.1%} of the records do not have {best.fields} fields; they go to quarantine."
        )
    if others:
        alternatives = ", ".join(f"{_show(one)} ({one.fields} fields)" for one in others)
        check = (
            f"{_show(best)} gives {best.fields} fields in each record. Alternatives: {alternatives}. {check}"
        )
    if best.delimiter != "," or check:
        findings.set_option("sep", best.delimiter.replace("\t", "\\t"), check.strip())
    return replace(dialect, delimiter=best.delimiter)


def _show(score: _Score) -> str:
    return {"\t": "a tab"}.get(score.delimiter, f"`{score.delimiter}`")


def _score(heads: Sequence[str], dialect: CsvDialect, delimiter: str) -> _Score:
    separated = replace(dialect, delimiter=delimiter)
    counts = [
        Counter(len(separated.split(record)) for record in _read(head, separated)[:_HEAD_RECORDS])
        for head in heads
    ]
    usual = [found.most_common(1)[0] for found in counts if found]
    if not usual:
        return _Score(delimiter, 0, 0)
    fields, _ = max(usual, key=lambda one: one[1])
    number = sum(number for own, number in usual if own == fields or min(own, fields) > 1)
    return _Score(delimiter, number / sum(found.total() for found in counts), fields)


def _detect_escape(heads: Sequence[str], dialect: CsvDialect, findings: Findings) -> CsvDialect:
    r"""Set a backslash as the escape if only that makes records with `\"` complete."""
    if not any('\\"' in head for head in heads):
        return dialect
    other = replace(dialect, escape="\\")
    bad, left = (
        sum(one.startswith(MARKER) for head in heads for one in read_records(head, each)[1])
        for each in (dialect, other)
    )
    if bad <= left:
        return dialect
    findings.set_option(
        "escape", "\\", f"{bad} records are malformed unless a backslash precedes a quote; then {left} are."
    )
    return other


def _detect_header(dialect: CsvDialect, files: Sequence[list[str]], findings: Findings) -> bool:
    if not files:
        findings.set_option(
            "header", "true", "no row was read: set it to false if no line names the columns."
        )
        return True
    verdicts = [detect_header(dialect, records[:_HEAD_RECORDS]) for records in files]
    header, check = _judge(verdicts, dialect, files)
    if not header:
        count = len(dialect.split(files[0][0]))
        check = f"{check} Columns are named _c0 to _c{count - 1}; `schema` gives them names.".strip()
    findings.set_option("header", "true" if header else "false", check)
    return header


def _judge(
    verdicts: Sequence[bool | None], dialect: CsvDialect, files: Sequence[list[str]]
) -> tuple[bool, str]:
    for_it, against = verdicts.count(True), verdicts.count(False)
    if for_it and against:
        check = f"{for_it} of the files read begin with names of columns, and {against} do not."
        return for_it >= against, check
    if for_it or against:
        return for_it > 0, ""
    names = dialect.read(files[0][0])
    below = {
        field for records in files for record in records[1:_HEAD_RECORDS] for field in dialect.read(record)
    }
    are_names = len(set(names)) == len(names) and all(map(_NAME.fullmatch, names))
    first = f"the first line ({files[0][0][:60]}) "
    if are_names and not below & set(names) and len({records[0] for records in files}) == 1:
        return True, first + "may name the columns: all columns are text. Alternative: false."
    return False, first + "does not seem to name the columns. Alternative: true."


def _to_rows(
    key: str, dialect: CsvDialect, records: list[str], file: SampledFile, *, header: bool
) -> SampledRows:
    names = (
        name_columns(dialect, records[0])
        if header
        else tuple(f"_c{at}" for at in range(len(dialect.split(records[0]))))
    )
    fields = [dialect.read(record) for record in records[1 if header else 0 :]]
    complete = file.is_complete and len(records) <= MOST_ROWS
    return from_fields(key, names, fields, is_complete=complete)
