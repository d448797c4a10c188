"""Hudi options for operations outside a table's pipeline."""

from collections.abc import Mapping, Sequence

NO_SERVICES = {"hoodie.compact.inline": "false", "hoodie.clustering.inline": "false"}
"""For a write alongside a table's own writer: prevents it from executing a plan that the writer is
executing."""

NO_PLANNED_COMPACTION = {"hoodie.compact.schedule.inline": "false"}
"""For a write that must not schedule a compaction, which fails on a copy-on-write table."""

PREFIX = "hoodie."

REJECT_WRITES = {"hoodie.write.concurrency.mode": "write with spark.sql(...) or lake[...] in this shell"}
"""For a table in a catalog: any write by its name fails, and Hudi's message contains this value."""

COMBINED = {"hoodie.combine.before.insert": "true"}
"""Deduplicates the rows of one write by key, as in an upsert."""


def partitions_to_delete(paths: Sequence[str]) -> dict[str, str]:
    """Return the options that select the partitions of a `delete_partition` operation."""
    return {"hoodie.datasource.write.partitions.to.delete": ",".join(paths)}


def compaction_options() -> dict[str, str]:
    """Return options for a compaction now, regardless of the number of delta commits."""
    return {
        "hoodie.compact.inline.trigger.strategy": "NUM_COMMITS",
        "hoodie.compact.inline.max.delta.commits": "1",
    }


def log_compaction_options(blocks: int) -> dict[str, str]:
    """Return options that merge the logs of each file group with at least `blocks` log blocks."""
    return {
        "hoodie.log.compaction.inline": "true",
        "hoodie.log.compaction.blocks.threshold": str(blocks),
    }


_PARTITION_DAYS = "hoodie.partition.ttl.strategy.days.retain"


def read_partition_days(given: Mapping[str, str]) -> int | None:
    """Return the partition retention in days; None without a limit."""
    text = given.get(_PARTITION_DAYS, "")
    return int(text) if text.isdecimal() and int(text) > 0 else None
