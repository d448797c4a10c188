"""Compares what two configurations put into quarantine."""

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from headwater.ingest.lineage import build_uri
from headwater.ingest.rehearsal.differences import (
    EXAMPLES,
    QuarantineDifferences,
    RejectedCount,
    RejectedExample,
)

_ITEM = ("level", "reason", "bucket", "key", "line")
_MOST_CHARS = 200


def compare_quarantine(
    now: DataFrame | None, new: DataFrame | None, table: str, providers: dict[str, str]
) -> QuarantineDifferences:
    """Return the items of one table by level and reason. `providers` by bucket; None: no quarantine yet."""
    found = now if now is not None else new
    if found is None:
        return QuarantineDifferences()
    before, after = (_select(found.limit(0) if one is None else one, table) for one in (now, new))
    return QuarantineDifferences(
        only_now=_count(_subtract(before, after), providers),
        only_new=_count(_subtract(after, before), providers),
        both=before.count() - _subtract(before, after).count(),
    )


def _select(items: DataFrame, table: str) -> DataFrame:
    of_table = items.where((F.col("table") == table) & (F.col("level") != "message"))
    # A retried object has several events with the same outcome.
    return of_table.groupBy(*_ITEM).agg(F.min("detail").alias("detail"))


def _subtract(items: DataFrame, others: DataFrame) -> DataFrame:
    renamed = others.select(*(F.col(name).alias(f"other_{name}") for name in _ITEM))
    is_same = F.lit(True)
    for name in _ITEM:
        is_same &= items[name].eqNullSafe(renamed[f"other_{name}"])
    return items.join(renamed, is_same, "left_anti")


def _count(items: DataFrame, providers: dict[str, str]) -> tuple[RejectedCount, ...]:
    counts = items.groupBy("level", "reason").count().orderBy("level", "reason").collect()
    return tuple(
        RejectedCount(row["level"], row["reason"], row["count"], _list_examples(items, row, providers))
        for row in counts
    )


def _list_examples(items: DataFrame, group: Row, providers: dict[str, str]) -> tuple[RejectedExample, ...]:
    level, reason = group["level"], group["reason"]
    found = items.where((F.col("level") == level) & (F.col("reason") == reason)).orderBy(
        "bucket", "key", "line"
    )
    return tuple(
        RejectedExample(
            build_uri(providers.get(row["bucket"], ""), row["bucket"], row["key"]),
            row["line"],
            (row["detail"] or "")[:_MOST_CHARS],
        )
        for row in found.take(EXAMPLES)
    )
