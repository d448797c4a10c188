"""Chooses key, ordering and mode of a table from sampled rows. Pure.

A key in mode merge identifies a row in all files of a table. A column whose values repeat within a file is no
key. One whose values repeat across files, but not within one, has two meanings: later files bring newer
versions of rows, or each file numbers its own rows. With a column that orders versions, merge is proposed,
else mirror, which needs no key and loses no row.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import combinations
from typing import Any

from headwater.app.inspection.sampled_rows import SampledRows, count_rows, list_columns
from headwater.config.processing.transform import STORABLE_NAME

_NAMES = ("id", "_id", "uuid", "guid", "key", "pk", "row_id", "record_id")
_PARTS = re.compile(
    r".*(_id|_key|_no|_nr|_number|_code|_uuid|id)|id|uuid|sku|line|position|sequence|seq|number"
)
_TIMES = (
    *("updated_at", "modified_at", "last_modified", "updated", "last_updated", "update_time", "version"),
    *("ts", "timestamp", "event_time", "changed_at", "updatedat", "modifiedat", "lastmodified"),
)
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?\s?(Z|[+-]\d\d(:?\d\d)?)?)?", re.IGNORECASE
)
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
ENOUGH_ROWS = 100
"""Rows without a repeated value after which a key counts as certain."""
_MOST_PARTS = 8
_OVERLAP = 0.9


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """The choice for one table; `check` is empty if it is certain, and then `fact` says why.

    `alternatives` are lines of YAML.
    """

    mode: str = ""
    record_key: tuple[str, ...] = ()
    ordering: str = ""
    fact: str = ""
    check: str = ""
    ordering_check: str = ""
    alternatives: tuple[str, ...] = ()

    def list_checks(self) -> dict[str, str]:
        """Return what is uncertain, by the key that it concerns."""
        found = {"record_key" if self.record_key else "mode": self.check, "ordering": self.ordering_check}
        return {key: check for key, check in found.items() if check}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """How the values of columns occur in the sampled files."""

    columns: tuple[str, ...]
    nulls: int
    within: int
    across: int
    distinct: int

    @property
    def is_key(self) -> bool:
        """True if no file has a value twice, and no row has none."""
        return not self.nulls and not self.within and self.distinct > 0


def choose_key(table: str, files: Sequence[SampledRows], read: str) -> KeyChoice:
    """Choose from the rows of files in the order of their modification; `read` says how much was read."""
    columns = list_columns(files)
    if not columns:
        return KeyChoice()
    found = {name: _count(files, (name,)) for name in columns if _may_be_key(files, name)}
    named = next((name for name in _rank(table, columns) if name in found), None)
    if named is None or not found[named].is_key:
        return _choose_without_key(files, found, named, read)
    candidate = found[named]
    ordering, ordering_check = _choose_ordering(files)
    if candidate.across and not ordering:
        return _choose_mirror(candidate, read, ordering_check)
    if candidate.across:
        check = (
            f"{named} has no null and no value twice in a file ({read}), but {candidate.across:,} of "
            f"{candidate.distinct:,} values are in several files: the row with the higher {ordering} wins. "
            "Alternative, if each file numbers its own rows: `mode: mirror` instead of the two keys below."
        )
        ordering_check = _check_growth(files, named, ordering)
        return KeyChoice("", (named,), ordering, check=check, ordering_check=ordering_check)
    fact = f"{named} has no null and no value twice in {read}"
    if count_rows(files) < ENOUGH_ROWS:
        return KeyChoice(
            *("", (named,), ordering),
            check=f"{fact}; more rows may show more. Alternative: `mode: append`, without a key: each file's "
            "rows are added once.",
            ordering_check=ordering_check,
        )
    return KeyChoice("", (named,), ordering, fact=f"{fact}.", ordering_check=ordering_check)


def _rank(table: str, columns: Sequence[str]) -> list[str]:
    """Return columns whose names are those of a key of the table, the best first."""
    table = re.sub(r"_(data|csv|json|json_array|parquet|avro|orc|xml)$", "", table)
    singular = re.sub(r"(?<=[^s])s$", "", re.sub(r"ies$", "y", table))
    stems = dict.fromkeys((singular, table, *singular.split("_")[-1:], *table.split("_")[:1]))
    wanted = [*_NAMES]
    for stem in stems:
        wanted += [f"{stem}{ending}" for ending in ("_id", "id", "_key", "_uuid", "_number", "_no", "_code")]
    by_lower = {re.sub(r"[ .-]", "_", name.lower()): name for name in columns}
    return [by_lower[name] for name in wanted if name in by_lower]


def _may_be_key(files: Sequence[SampledRows], name: str) -> bool:
    kinds = {type(value) for file in files for value in file.columns.get(name, ()) if value is not None}
    return STORABLE_NAME.fullmatch(name) is not None and bool(kinds) and kinds <= {int, str}


def _count(files: Sequence[SampledRows], columns: tuple[str, ...]) -> _Candidate:
    nulls = within = 0
    in_files: Counter[Any] = Counter()
    for file in files:
        values = _read_values(file, columns)
        nulls += sum(None in value for value in values)
        counts = Counter(value for value in values if None not in value)
        within += sum(number > 1 for number in counts.values())
        in_files.update(counts.keys())
    across = sum(number > 1 for number in in_files.values())
    return _Candidate(columns, nulls, within, across, len(in_files))


def _read_values(file: SampledRows, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    missing = [None] * file.count
    return list(zip(*(file.columns.get(name, missing) for name in columns), strict=True))


def _choose_without_key(
    files: Sequence[SampledRows], found: dict[str, _Candidate], named: str | None, read: str
) -> KeyChoice:
    unique = [one for name, one in found.items() if name != named and one.is_key and not one.across]
    others = [one for one in unique if _PARTS.fullmatch(one.columns[0].lower())]
    if not others:
        parts = [name for name in found if _PARTS.fullmatch(name.lower())][:_MOST_PARTS]
        pairs = (_count(files, pair) for pair in combinations(parts, 2))
        others = [one for one in pairs if one.is_key and not one.across]
    if not others and count_rows(files) >= ENOUGH_ROWS:
        others = unique
    reason = f"no column has the name of a key in {read}"
    if named is not None:
        bad = found[named]
        problems = [_format_count(bad.nulls, "null")] if bad.nulls else []
        problems += [f"{_format_count(bad.within, 'value')} twice in a file"] if bad.within else []
        reason = f"{named} is no key: it has {' and '.join(problems)} in {read}"
    check = f"{reason}. Each file's rows are added once; an overwritten file adds its rows again."
    if others:
        check += (
            " For one row per key, use a line below instead of `mode`: it has no null and no value twice."
        )
    else:
        check += " Alternative: `mode: mirror`, in which the rows of a file follow the file."
    lines = tuple(f"record_key: {_format_names(one.columns)}" for one in others[:3])
    return KeyChoice("append", check=check, alternatives=lines)


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _format_names(columns: Sequence[str]) -> str:
    return columns[0] if len(columns) == 1 else f"[{', '.join(columns)}]"


def _choose_mirror(candidate: _Candidate, read: str, ordering_check: str) -> KeyChoice:
    (name,) = candidate.columns
    check = (
        f"{candidate.across:,} of {candidate.distinct:,} values of {name} are in several files, in {read}, "
        "and no column orders versions of a row. In a mirror each file has its own rows. Alternative: the "
        "line below instead of `mode`, with which the row of the newer file wins."
    )
    if candidate.across >= _OVERLAP * candidate.distinct:
        check += " If each file is a full dump of the table, see `complete_when`."
    if ordering_check:
        check += f" {ordering_check[:1].upper()}{ordering_check[1:]}"
    return KeyChoice("mirror", check=check, alternatives=(f"record_key: {name}",))


def _choose_ordering(files: Sequence[SampledRows]) -> tuple[str, str]:
    """Return a column that orders versions, or none with what is wrong with the one that seems to."""
    by_lower = {name.lower(): name for name in list_columns(files)}
    check = ""
    for wanted in _TIMES:
        name = by_lower.get(wanted)
        if name is None or STORABLE_NAME.fullmatch(name) is None:
            continue
        values = [value for file in files for value in file.columns.get(name, [None] * file.count)]
        texts = [value for value in values if isinstance(value, str)]
        if not all(isinstance(one, str | int | float | Decimal | date) for one in values if one is not None):
            continue
        if any(value is None for value in values):
            check = check or f"{name} seems to order versions, but is null in {values.count(None):,} rows."
        elif texts and not (all(map(_ISO.fullmatch, texts)) or all(map(_NUMBER.fullmatch, texts))):
            shown = next(one for one in texts if not _ISO.fullmatch(one))
            check = check or (
                f"{name} seems to order versions, but is text such as '{shown[:40]}'. To use it, give its "
                f'type: schema_hints: "{name} timestamp".'
            )
        else:
            return name, ""
    return "", check


def _check_growth(files: Sequence[SampledRows], key: str, ordering: str) -> str:
    """Say how many values of the key have a lower ordering in a file that was modified later."""
    newest: dict[Any, Any] = {}
    lower, shared = set(), set()
    for file in files:
        for value, order in zip(file.columns[key], file.columns[ordering], strict=True):
            comparable = _to_comparable(order)
            if value in newest:
                shared.add(value)
                if comparable < newest[value]:
                    lower.add(value)
            newest[value] = max(comparable, newest.get(value, comparable))
    if not lower:
        return ""
    return (
        f"for {len(lower):,} of {len(shared):,} keys in several files, a file that was modified later has a "
        f"lower {ordering}; its row is ignored. Alternative: omit `ordering`, so that the newer file wins."
    )


def _to_comparable(value: Any) -> tuple[float, str]:
    if isinstance(value, datetime | date):
        return 0.0, value.isoformat()
    text = str(value)
    return (float(text), "") if _NUMBER.fullmatch(text) else (0.0, text.replace(" ", "T"))
