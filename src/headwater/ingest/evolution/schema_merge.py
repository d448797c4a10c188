"""Merges a table's columns with those of an object. Pure: no session.

Merging is idempotent and never narrows. The resulting columns do not depend on the order of the objects,
as long as no change is rejected; the positions of new columns do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from headwater.ingest.evolution.type_widening import widen_leaf

ChangeKind = Literal["added", "widened", "refused"]

# Spark's column for a record that cannot be parsed: no column of an object may have its name. Names of Hudi
# and headwater are given other columns (`inference.column_names`).
RESERVED_PREFIXES = ("_corrupt_record",)


@dataclass(frozen=True, slots=True)
class ColumnEvolution:
    """`column` is a dotted path (`[]`: an array's elements, `{}`: a map's values). `before` is None for an
    added column. For a rejected change, `after` is the type found.
    """

    kind: ChangeKind
    column: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class MergeRules:
    """`keys` are columns that identify and order rows, `pinned` those with types from the configuration,
    `ignored` those with another origin. `is_text`: values arrive as text.
    """

    is_text: bool = False
    keys: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()

    def is_ignored(self, name: str) -> bool:
        """True if a column of that name never comes from an object."""
        folded = name.lower()
        return folded.startswith(RESERVED_PREFIXES) or folded in self.ignored


@dataclass(frozen=True, slots=True)
class SchemaMerge:
    """`schema` has all added and widened columns; rejected columns are unchanged."""

    schema: StructType
    changes: tuple[ColumnEvolution, ...]

    @property
    def accepted(self) -> tuple[ColumnEvolution, ...]:
        """The changes that are in `schema`."""
        return tuple(change for change in self.changes if change.kind != "refused")


def merge_schemas(present: StructType, found: StructType, rules: MergeRules) -> SchemaMerge:
    """Append the columns that only `found` has, and widen those whose values need it.

    Names are compared without case, and the present spelling stays. A column that `found` lacks stays, too:
    its rows are null.
    """
    wanted = StructType([field for field in found if not rules.is_ignored(field.name)])
    changes: list[ColumnEvolution] = []
    merged = _Merger(rules, changes).merge_struct(present, wanted, "")
    return SchemaMerge(merged, tuple(changes))


class _Merger:
    def __init__(self, rules: MergeRules, changes: list[ColumnEvolution]) -> None:
        self._rules = rules
        self._changes = changes

    def merge_struct(self, present: StructType, found: StructType, path: str) -> StructType:
        fields = list(present.fields)
        indexes = {field.name.lower(): at for at, field in enumerate(fields)}
        for field in found:
            column = f"{path}{field.name}"
            at = indexes.get(field.name.lower())
            if at is None:
                indexes[field.name.lower()] = len(fields)
                fields.append(StructField(field.name, field.dataType))
                self._note("added", column, None, field.dataType)
                continue
            known = fields[at]
            kind = self._merge_column(known, field.dataType, f"{path}{known.name}", is_top=not path)
            fields[at] = StructField(known.name, kind, known.nullable, known.metadata)
        return StructType(fields)

    def _merge_column(self, known: StructField, found: DataType, path: str, *, is_top: bool) -> DataType:
        if is_top and known.name.lower() in self._rules.pinned:
            return known.dataType
        return self._merge_type(
            known.dataType, found, path, is_key=is_top and known.name.lower() in self._rules.keys
        )

    def _merge_type(self, present: DataType, found: DataType, path: str, *, is_key: bool = False) -> DataType:
        if isinstance(present, StructType) and isinstance(found, StructType):
            return self.merge_struct(present, found, f"{path}.")
        if isinstance(present, ArrayType) and isinstance(found, ArrayType):
            return ArrayType(self._merge_type(present.elementType, found.elementType, f"{path}[]"))
        if isinstance(present, MapType) and isinstance(found, MapType):
            if present.keyType == found.keyType:
                values = self._merge_type(present.valueType, found.valueType, f"{path}{{}}")
                return MapType(present.keyType, values)
        elif (
            self._rules.is_text and isinstance(present, MapType) and isinstance(found, StructType)
        ):  # an object in text may be either
            return present
        kind = widen_leaf(present, found, is_text=self._rules.is_text, is_key=is_key)
        if kind is None:
            self._note("refused", path, present, found)
            return present
        if kind != present:
            self._note("widened", path, present, kind)
        return kind

    def _note(self, kind: ChangeKind, path: str, before: DataType | None, after: DataType) -> None:
        text = before.simpleString() if before is not None else None
        self._changes.append(ColumnEvolution(kind, path, text, after.simpleString()))


def compare_schemas(before: StructType, after: StructType) -> tuple[ColumnEvolution, ...]:
    """Return new columns and changed types in `after`, whatever rules produced them."""
    return tuple(_iter_differences(before, after, ""))


def _iter_differences(before: StructType, after: StructType, path: str) -> Iterator[ColumnEvolution]:
    known = {field.name.lower(): field.dataType for field in before}
    for field in after:
        column, present = f"{path}{field.name}", known.get(field.name.lower())
        if present is None:
            yield ColumnEvolution("added", column, None, field.dataType.simpleString())
        else:
            yield from _iter_type_differences(present, field.dataType, column)


def _iter_type_differences(before: DataType, after: DataType, path: str) -> Iterator[ColumnEvolution]:
    if isinstance(before, StructType) and isinstance(after, StructType):
        yield from _iter_differences(before, after, f"{path}.")
    elif isinstance(before, ArrayType) and isinstance(after, ArrayType):
        yield from _iter_type_differences(before.elementType, after.elementType, f"{path}[]")
    elif isinstance(before, MapType) and isinstance(after, MapType):
        yield from _iter_type_differences(before.valueType, after.valueType, f"{path}{{}}")
    elif before.simpleString() != after.simpleString():
        yield ColumnEvolution("widened", path, before.simpleString(), after.simpleString())
