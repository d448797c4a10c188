"""The names of columns in a table: ASCII, unique regardless of case, and never changed. Pure.

If a field's name in the table differs from the one in its objects, its metadata keeps the original name.
The metadata is committed with the table's columns. Hudi uses Avro's names; hudi-rs accepts only ASCII.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from headwater.config.own_columns import is_own_column

_NAME = "headwater.name"
_STORABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OLD_UNSTORABLE = re.compile(r"\W")
# Letters that Unicode does not decompose.
_SPELLED = {
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Ł": "L",
}

_Rule = Callable[[Sequence[StructField], Mapping[str, StructField]], Mapping[str, str]]
"""Fields of one level, and the table's existing ones: returns the names in the table by names in objects."""


def assign_names(schema: StructType, stored: StructType | None = None) -> StructType:
    """Assign each field, including nested ones, its name in the table.

    Fields of `stored`, the table's current columns, keep theirs. Of new fields, those with storable names
    come first: `a_b` is never the name of `a b` while both are new.
    """
    return _apply(schema, stored or StructType(), _choose_names)


def assign_old_names(schema: StructType) -> StructType:
    """Return the columns of a table created before names were stored, named by the rule of that time."""
    is_old = any(_NAME not in f.metadata and not _STORABLE.fullmatch(f.name) for f in _iter_fields(schema))
    return _apply(schema, StructType(), _choose_old_names) if is_old else schema


def is_reserved(name: str) -> bool:
    """True for names of Hudi's and headwater's own columns: Hudi deletes a row with `_hoodie_is_deleted`."""
    return is_own_column(name.lower())


def rename_for_hudi(schema: StructType) -> StructType:
    """Return the columns with their names in the table."""
    return StructType(
        [StructField(_find_name(f), _map_structs(f.dataType, rename_for_hudi), f.nullable) for f in schema]
    )


def list_renamed(schema: StructType, path: tuple[str, str] = ("", "")) -> Iterator[tuple[str, str]]:
    """Yield the dotted paths in objects and in the table of fields whose names differ."""
    for field in schema:
        names = (f"{path[0]}{field.name}", f"{path[1]}{_find_name(field)}")
        if field.name != _find_name(field):
            yield names
        for inside in _iter_structs(field.dataType):
            yield from list_renamed(inside, (f"{names[0]}.", f"{names[1]}."))


def _apply(schema: StructType, stored: StructType, choose: _Rule) -> StructType:
    known = {field.name: field for field in stored}
    names = choose(schema.fields, known)
    fields = []
    for field in schema:
        name, inside = names[field.name], _find_struct(known.get(field.name))
        kind = _map_structs(field.dataType, partial(_apply, stored=inside, choose=choose))
        is_own = name == field.name and _STORABLE.fullmatch(name)
        metadata = {key: value for key, value in field.metadata.items() if key != _NAME}
        fields.append(
            StructField(field.name, kind, field.nullable, metadata if is_own else metadata | {_NAME: name})
        )
    return StructType(fields)


def _choose_names(fields: Sequence[StructField], known: Mapping[str, StructField]) -> Mapping[str, str]:
    names = {
        f.name: _find_name(known.get(f.name, f))
        for f in fields
        if (f.name in known or _NAME in f.metadata) and not is_reserved(_find_name(known.get(f.name, f)))
    }
    new = [field.name for field in fields if field.name not in names]
    taken = {name.lower() for name in names.values()}
    for name in sorted(new, key=lambda name: not _STORABLE.fullmatch(name) or is_reserved(name)):
        plain = found = _spell(name)
        number = 1
        while found.lower() in taken:
            number += 1
            found = f"{plain}_{number}"
        names[name] = found
        taken.add(found.lower())
    return names


def _choose_old_names(fields: Sequence[StructField], known: Mapping[str, StructField]) -> Mapping[str, str]:
    del known
    names: dict[str, str] = {}
    taken: set[str] = set()
    for field in fields:
        plain = _OLD_UNSTORABLE.sub("_", field.name) or "_"
        plain = name = f"_{plain}" if plain[0].isdigit() else plain
        while name.lower() in taken:
            name = f"{plain}_{len(taken)}"
        taken.add(name.lower())
        names[field.name] = name
    return names


def _spell(name: str) -> str:
    """Return an ASCII name: `größe` -> `grosse`, `a b` -> `a_b`, `价格` -> `u4ef7u683c`."""
    spelled = "".join(map(_spell_character, unicodedata.normalize("NFC", name))) or "_"
    if is_reserved(spelled):
        return f"field{spelled}"
    return f"_{spelled}" if spelled[0].isdigit() else spelled


def _spell_character(character: str) -> str:
    if character in _SPELLED:
        return _SPELLED[character]
    plain = "".join(c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c))
    if re.fullmatch(r"[A-Za-z0-9_]+", plain):
        return plain
    return f"u{ord(character):04x}" if character.isalnum() else "_"


def _find_name(field: StructField) -> str:
    return str(field.metadata.get(_NAME, field.name))


def _find_struct(field: StructField | None) -> StructType:
    """Return the struct in a field's type, or an empty one."""
    return next(_iter_structs(field.dataType), StructType()) if field is not None else StructType()


def _iter_fields(schema: StructType) -> Iterator[StructField]:
    for field in schema:
        yield field
        for inside in _iter_structs(field.dataType):
            yield from _iter_fields(inside)


def _iter_structs(kind: DataType) -> Iterator[StructType]:
    """Yield the outermost structs in a type."""
    if isinstance(kind, StructType):
        yield kind
    elif isinstance(kind, ArrayType):
        yield from _iter_structs(kind.elementType)
    elif isinstance(kind, MapType):
        yield from _iter_structs(kind.valueType)


def _map_structs(kind: DataType, change: Callable[[StructType], StructType]) -> DataType:
    if isinstance(kind, StructType):
        return change(kind)
    if isinstance(kind, ArrayType):
        return ArrayType(_map_structs(kind.elementType, change), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _map_structs(kind.valueType, change), kind.valueContainsNull)
    return kind
