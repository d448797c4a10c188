"""The differences between the rows of two configurations; `headwater rehearse --json` has these names.

`now` is the current configuration, `new` the edited one.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from pyspark.sql.types import DataType, StructField, StructType

from headwater.config.own_columns import is_own_column
from headwater.ingest.evolution.schema_merge import MergeRules, merge_schemas

EXAMPLES = 5
MatchedBy = Literal["key", "object"]


@dataclass(frozen=True, slots=True)
class TypeChange:
    """A column that both have, with different types. `widens`: a run changes `now` to `new` by itself."""

    column: str
    now: str
    new: str
    widens: bool = False


@dataclass(frozen=True, slots=True)
class SchemaDifferences:
    """Columns with their types, such as `amount double`."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[TypeChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if both have the same columns."""
        return not (self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class ValueExample:
    """A changed value: how the report names the row, and both values as text; None is null."""

    row: str
    now: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column with different values in `rows` rows."""

    column: str
    rows: int
    examples: tuple[ValueExample, ...] = ()


@dataclass(frozen=True, slots=True)
class RowDifferences:
    """The rows of both. `matched_by` says what makes two rows the same row: the columns `key`, or the object.

    `undecided` rows are not compared, because an object outside the window decides them. Neither are rows
    of the `unstable` objects, which were overwritten between the two reads. `lost` rows are in the table,
    from objects in the window, and no file makes them: their objects were overwritten or removed since.
    """

    matched_by: MatchedBy = "object"
    key: tuple[str, ...] = ()
    equal: int = 0
    only_now: int = 0
    only_new: int = 0
    changed: int = 0
    columns: tuple[ColumnChange, ...] = ()
    only_now_examples: tuple[str, ...] = ()
    only_new_examples: tuple[str, ...] = ()
    undecided: int = 0
    unstable: int = 0
    lost: int = 0

    @property
    def is_empty(self) -> bool:
        """True if no compared row differs."""
        return not (self.only_now or self.only_new or self.changed)


@dataclass(frozen=True, slots=True)
class RejectedExample:
    """An object or a record in quarantine; `line` is None for an object."""

    object: str
    line: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class RejectedCount:
    """How many objects or records only one of both puts into quarantine, for one reason."""

    level: str
    reason: str
    count: int
    examples: tuple[RejectedExample, ...] = ()


@dataclass(frozen=True, slots=True)
class QuarantineDifferences:
    """Items in the quarantine of one of both only; `both` counts the others."""

    only_now: tuple[RejectedCount, ...] = ()
    only_new: tuple[RejectedCount, ...] = ()
    both: int = 0

    @property
    def is_empty(self) -> bool:
        """True if the same items are in quarantine, for the same reasons."""
        return not (self.only_now or self.only_new)


def compare_schemas(now: StructType, new: StructType, keys: Collection[str] = ()) -> SchemaDifferences:
    """Return the differences of the data columns, by name. `keys` identify and order rows."""
    before = {field.name: field.dataType for field in now if is_data(field.name)}
    after = {field.name: field.dataType for field in new if is_data(field.name)}
    return SchemaDifferences(
        added=tuple(f"{name} {kind.simpleString()}" for name, kind in after.items() if name not in before),
        removed=tuple(f"{name} {kind.simpleString()}" for name, kind in before.items() if name not in after),
        changed=tuple(
            TypeChange(
                name,
                kind.simpleString(),
                after[name].simpleString(),
                _is_widened(name, kind, after[name], keys),
            )
            for name, kind in before.items()
            if name in after and after[name].simpleString() != kind.simpleString()
        ),
    )


def _is_widened(name: str, now: DataType, new: DataType, keys: Collection[str]) -> bool:
    present, found = (StructType([StructField(name, kind)]) for kind in (now, new))
    rules = MergeRules(keys=frozenset(key.lower() for key in keys))
    return merge_schemas(present, found, rules).schema[name].dataType.simpleString() == new.simpleString()


def is_data(column: str) -> bool:
    """True if the column is neither one of Hudi nor one of lineage, which differ in each write."""
    return not is_own_column(column)
