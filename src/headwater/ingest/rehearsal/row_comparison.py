"""Compares the rows of two shadows inside Spark; only counts and a few examples reach the driver."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.ingest.rehearsal.differences import (
    EXAMPLES,
    ColumnChange,
    RowDifferences,
    ValueExample,
)
from headwater.ingest.rehearsal.row_matching import (
    LABEL,
    MATCH,
    VALUES,
    has_unique_keys,
    match_by_key,
    match_in_objects,
)
from headwater.ingest.rehearsal.undecided import (
    ComparedRows,
    LiveTable,
    exclude_undecided,
    exclude_unstable,
    held,
)

_MOST_CHARS = 200
_NOW, _NEW = f"now.{VALUES}", f"new.{VALUES}"


def compare_rows(
    now: DataFrame,
    new: DataFrame,
    keys: Sequence[Sequence[str]],
    live: LiveTable | None,
    *,
    has_objects: bool = True,
) -> RowDifferences:
    """Compare the rows of the current configuration with those of the new one.

    The first of the `keys` that identifies the rows of both matches them, else their object does. `live` is
    the real table, if there is one. `has_objects`: each row comes from one object.
    """
    with held(live) as table:
        found = ComparedRows(now, new)
        if has_objects:
            found = exclude_unstable(now, new, table.key if table else ())
        if table is not None:
            found = exclude_undecided(found, table)
        return _match(found, keys)


def _match(found: ComparedRows, keys: Sequence[Sequence[str]]) -> RowDifferences:
    now, new = (frame.persist(StorageLevel.MEMORY_AND_DISK) for frame in (found.now, found.new))
    try:
        key = next((key for key in keys if has_unique_keys(now, key) and has_unique_keys(new, key)), ())
        matched = match_by_key(now, new, key) if key else match_in_objects(now, new)
        return replace(
            _count(*matched),
            matched_by="key" if key else "object",
            key=tuple(key),
            undecided=found.undecided,
            unstable=found.unstable,
            lost=found.lost,
        )
    finally:
        now.unpersist()
        new.unpersist()


def _count(before: DataFrame, after: DataFrame) -> RowDifferences:
    with _joined(before, after) as both:
        names = before.select(f"{VALUES}.*").columns
        is_both = F.col(_NOW).isNotNull() & F.col(_NEW).isNotNull()
        differs = {name: is_both & _differs(name) for name in names}
        is_changed = is_both & ~F.col(_NOW).eqNullSafe(F.col(_NEW))
        counts = both.agg(
            _count_if(is_both & ~is_changed),
            _count_if(is_changed),
            _count_if(F.col(_NEW).isNull()),
            _count_if(F.col(_NOW).isNull()),
            *(_count_if(condition) for condition in differs.values()),
        ).collect()[0]
        equal, changed, only_now, only_new, *by_column = counts
        return RowDifferences(
            equal=equal,
            changed=changed,
            only_now=only_now,
            only_new=only_new,
            columns=tuple(
                ColumnChange(name, count, _list_values(both, name, differs[name]))
                for name, count in zip(names, by_column, strict=True)
                if count
            ),
            only_now_examples=_list_rows(both, "now", F.col(_NEW).isNull()) if only_now else (),
            only_new_examples=_list_rows(both, "new", F.col(_NOW).isNull()) if only_new else (),
        )


@contextmanager
def _joined(before: DataFrame, after: DataFrame) -> Iterator[DataFrame]:
    joined = before.alias("now").join(
        after.alias("new"), F.col(f"now.{MATCH}") == F.col(f"new.{MATCH}"), "full_outer"
    )
    joined = joined.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield joined
    finally:
        joined.unpersist()


def _differs(name: str) -> Column:
    return ~_get("now", name).eqNullSafe(_get("new", name))


def _get(side: str, name: str) -> Column:
    return F.col(f"{side}.{VALUES}").getField(name)


def _count_if(condition: Column) -> Column:
    return F.count(F.when(condition, 1))


def _list_values(both: DataFrame, name: str, condition: Column) -> tuple[ValueExample, ...]:
    found = both.where(condition).orderBy(f"now.{LABEL}", f"now.{MATCH}")
    rows = found.select(f"now.{LABEL}", *(_to_text(_get(side, name)) for side in ("now", "new"))).take(
        EXAMPLES
    )
    return tuple(ValueExample(*row) for row in rows)


def _list_rows(both: DataFrame, side: str, condition: Column) -> tuple[str, ...]:
    found = both.where(condition).orderBy(f"{side}.{LABEL}", f"{side}.{MATCH}")
    return tuple(row[0] for row in found.select(f"{side}.{LABEL}").take(EXAMPLES))


def _to_text(value: Column) -> Column:
    return F.substring(value.cast("string"), 1, _MOST_CHARS)
