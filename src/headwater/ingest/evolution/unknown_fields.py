"""Finds fields without a column, in records of JSON text and in rows. Runs in executors.

Most records have nothing to report, which takes a few microseconds to know, or half with `plain_records`.
Only the others are read by a decoder that notices a name that occurs twice.
"""

import base64
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import types

from headwater.ingest.evolution.plain_records import PlainRecords
from headwater.ingest.formats.json_values import (
    NumberText,
    RepeatedNameError,
    has_more,
    refuse_repeated_names,
)
from headwater.ingest.formats.markers import MALFORMED, REPEATED_NAME

_SAMPLES_A_FIELD = 20
_SCANNED_AT_ONCE = 1_000
_UNKNOWN = -(10**12)
"""Less than any number of names."""


_QUICK = json.JSONDecoder(strict=False, object_pairs_hook=refuse_repeated_names)
_EXACT = json.JSONDecoder(
    strict=False, parse_int=NumberText, parse_float=NumberText, parse_constant=NumberText
)


@dataclass
class _Fields:
    """The known fields of an object; `nested` are those that contain known fields."""

    names: dict[str, "_Node"]
    ignored: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.known = frozenset(self.names) | self.ignored
        self.folded = {name.lower(): name for name in reversed(self.names)}
        self.nested = [(name, node) for name, node in self.names.items() if node is not None]


@dataclass
class _Items:
    """The elements of an array, or the values of a map."""

    inside: "_Node"
    is_map: bool = False


_Node = _Fields | _Items | None


@dataclass(frozen=True, slots=True)
class ScannedTexts:
    """`texts` have the table's spelling of names. `rescued` is empty, or as long as `texts`: JSON of the
    fields without a column. `sample`: such fields of some records, with every name.
    """

    texts: Sequence[str]
    rescued: Sequence[str | None]
    sample: tuple[str, ...]


@dataclass
class _Sample:
    texts: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, text: str, paths: Collection[str]) -> None:
        if any(self.counts.get(path, 0) < _SAMPLES_A_FIELD for path in paths):
            self.texts.append(text)
            for path in paths:
                self.counts[path] = self.counts.get(path, 0) + 1


@dataclass
class _Scanned:
    """What records have to report, by their places."""

    changed: dict[int, str] = field(default_factory=dict)
    rescued: dict[int, str] = field(default_factory=dict)
    sample: _Sample = field(default_factory=_Sample)


class FieldScanner:
    """Compares records with the columns of one table.

    `ignored` are names that are never new. A null, an empty object and an empty array do not define a field.
    """

    def __init__(self, schema: pa.Schema, ignored: Iterable[str] = ()) -> None:
        names = frozenset(ignored)
        self._root = _Fields({f.name: _build_node(f.type) for f in schema}, names)
        self._plain = PlainRecords(schema, names)

    def scan(self, texts: Sequence[str], *, rescues: bool) -> ScannedTexts:
        """Scan the texts; leave texts that are not JSON objects to the record parser, unchanged.

        Marks a record that has more text after its document. Marks one that names a field twice, or in two
        spellings unless the second one is rescued.
        """
        found = _Scanned()
        for start in range(0, len(texts), _SCANNED_AT_ONCE):
            some = texts[start : start + _SCANNED_AT_ONCE]
            if self._plain.are_all(some):
                continue
            if self._is_plain(some):
                self._plain.stop()
            else:
                self._scan_each(some, start, found, rescues=rescues)
        kept = [found.changed.get(at, text) for at, text in enumerate(texts)] if found.changed else texts
        rescued = [found.rescued.get(at) for at in range(len(texts))] if found.rescued else ()
        return ScannedTexts(kept, rescued, tuple(found.sample.texts))

    def _scan_each(self, texts: Sequence[str], start: int, found: "_Scanned", *, rescues: bool) -> None:
        for at, text in enumerate(texts, start):
            try:
                body = text if text[:1] == "{" else text.lstrip()
                value, end = _QUICK.raw_decode(body)
                if has_more(body, end):
                    found.changed[at] = MALFORMED + text
                    continue
                if not isinstance(value, dict) or not self._has_unknown(value):
                    continue
                record = _EXACT.decode(text)
            except RepeatedNameError:
                found.changed[at] = REPEATED_NAME + text
                continue
            except (ValueError, RecursionError):
                continue
            if _respell(record, self._root):
                found.changed[at] = _write(record)
            unknown = _find_fields(record, self._root)
            if rescues and unknown:
                found.rescued[at] = _write(unknown)
            elif _is_repeated(unknown, self._root):
                found.changed[at] = REPEATED_NAME + text
            if paths := list(_iter_novel(unknown, self._root, "")):
                found.sample.add(_write(unknown), paths)

    def _is_plain(self, texts: Sequence[str]) -> bool:
        """True if the records certainly have nothing to report.

        Of a name that occurs twice, orjson keeps one. But each name in a text ends with a quote before a
        colon, and perhaps blanks between them: if the texts have no blanks there, and no more such ends than
        the records have names, none occurs twice.
        """
        try:
            values = [orjson.loads(text) for text in texts]
        except ValueError:
            return False
        if not all(type(value) is dict for value in values):
            return False
        joined = "".join(texts)
        if any(blank in joined and f'"{blank}' in joined for blank in " \t\r\n"):
            return False
        return _count_known(values, self._root) == joined.count('":')

    def _has_unknown(self, value: dict[str, Any]) -> bool:
        root = self._root
        if value.keys() - root.known:
            return True
        return any(_find(value.get(name), node) for name, node in root.nested)

    def find_in_row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a typed row that have no column."""
        return _find_fields(row, self._root)

    def is_novel(self, name: str) -> bool:
        """True if no column has this name, in any case."""
        return name not in self._root.known and name.lower() not in self._root.folded


def write_json(value: object) -> str:
    """Return JSON of a typed row's fields: times as ISO text, bytes as base64, decimals as text."""
    return json.dumps(value, ensure_ascii=False, default=_to_text)


def _to_text(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _build_node(kind: pa.DataType) -> _Node:
    if types.is_struct(kind):
        return _Fields({f.name: _build_node(f.type) for f in kind})
    if types.is_list(kind) or types.is_map(kind):
        inside = _build_node(kind.item_type if types.is_map(kind) else kind.value_type)
        return _Items(inside, types.is_map(kind)) if inside is not None else None
    return None


def _count_known(values: Sequence[dict[str, Any]], node: _Fields) -> int:
    """Return the number of names in all objects; negative if one is unknown.

    Names inside the value of a plain column, such as an object in a text column, do not count.
    """
    if not node.known.issuperset(chain.from_iterable(values)):
        return _UNKNOWN
    names = sum(map(len, values))
    for name, child in node.nested:
        names += _count_inside([part for value in values if (part := value.get(name))], child)
    return names


def _count_inside(parts: Sequence[Any], node: _Node) -> int:
    if isinstance(node, _Fields):
        return _count_known([part for part in parts if type(part) is dict], node)
    if node is None:
        return 0
    if node.is_map:
        maps = [part for part in parts if type(part) is dict]
        values = list(chain.from_iterable(found.values() for found in maps))
        return sum(map(len, maps)) + _count_inside(values, node.inside)
    lists = [part for part in parts if type(part) is list]
    return _count_inside(list(chain.from_iterable(lists)), node.inside)


def _find(value: Any, node: _Node) -> Any:
    """Return the parts of a value without a column; empty if there are none."""
    if isinstance(node, _Fields):
        return _find_fields(value, node) if isinstance(value, dict) else None
    if node is None or not value:
        return None
    if node.is_map:
        return {key: part for key, item in _list_pairs(value) if (part := _find(item, node.inside))}
    if not isinstance(value, list):
        return None
    parts = [_find(item, node.inside) or None for item in value]
    return parts if any(parts) else None


def _list_pairs(value: Any) -> Collection[tuple[Any, Any]]:
    """Return the entries of a map; a typed row has them as a list of pairs. Any other value has none."""
    if isinstance(value, dict):
        return value.items()
    return [pair for pair in value if isinstance(pair, tuple)] if isinstance(value, list) else ()


def _find_fields(value: dict[str, Any], node: _Fields) -> dict[str, Any]:
    unknown = value.keys() - node.known
    found: dict[str, Any] = {}
    if unknown:
        found = {name: item for name, item in value.items() if name in unknown and _has_content(item)}
    for name, child in node.nested:
        if part := _find(value.get(name), child):
            found[name] = part
    return found


def _has_content(item: object) -> bool:
    return item is not None and item not in ({}, [])


def _is_repeated(unknown: Any, node: _Node) -> bool:
    """True if a field is another spelling of one that the record also has, which `_respell` leaves."""
    if isinstance(node, _Fields) and isinstance(unknown, dict):
        return any(
            _is_repeated(item, node.names[name]) if name in node.names else name.lower() in node.folded
            for name, item in unknown.items()
        )
    if isinstance(node, _Items) and unknown:
        items = unknown.values() if isinstance(unknown, dict) else unknown
        return any(_is_repeated(item, node.inside) for item in items)
    return False


def _iter_novel(unknown: Any, node: _Node, path: str) -> Iterable[str]:
    """Yield paths of fields whose names are not just another spelling of a known one."""
    if isinstance(node, _Fields) and isinstance(unknown, dict):
        for name, item in unknown.items():
            if name in node.names:
                yield from _iter_novel(item, node.names[name], f"{path}{name}.")
            elif name.lower() not in node.folded:
                yield f"{path}{name}"
    elif isinstance(node, _Items) and unknown:
        for item in unknown.values() if isinstance(unknown, dict) else unknown:
            yield from _iter_novel(item, node.inside, path)


def _respell(value: Any, node: _Node) -> bool:
    """Rename fields to the table's spelling where it is free; return whether any was renamed."""
    if isinstance(node, _Items) and value:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return _any_respelled((item, node.inside) for item in items)
    if not isinstance(node, _Fields) or not isinstance(value, dict):
        return False
    changed = False
    for name in [name for name in value if name not in node.known]:
        spelling = node.folded.get(name.lower())
        if spelling is not None and spelling not in value:
            value[spelling] = value.pop(name)
            changed = True
    return _any_respelled((value.get(name), child) for name, child in node.nested) or changed


def _any_respelled(values: Iterable[tuple[Any, _Node]]) -> bool:
    changed = False
    for value, node in values:
        changed = _respell(value, node) or changed
    return changed


def _write(value: Any) -> str:
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{_write(v)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
