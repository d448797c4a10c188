"""What is done to a table beside its pipeline, as Hudi's options."""

from collections.abc import Mapping, Sequence

NO_SERVICES = {"hoodie.compact.inline": "false", "hoodie.clustering.inline": "false"}
"""For a write beside a table's own writer: it would carry out a plan that the other is carrying out."""

NO_PLANNED_COMPACTION = {"hoodie.compact.schedule.inline": "false"}
"""For a write that shall plan none. To a copy-on-write table Hudi fails of planning one."""

COMBINED = {"hoodie.combine.before.insert": "true"}
"""Of rows with one key in one write, one stays, as in an upsert."""


def partitions_to_delete(paths: Sequence[str]) -> dict[str, str]:
    """Beside the operation `delete_partition`: which."""
    return {"hoodie.datasource.write.partitions.to.delete": ",".join(paths)}


def compaction_options() -> dict[str, str]:
    """Compact now, whatever came together since the last time."""
    return {
        "hoodie.compact.inline.trigger.strategy": "NUM_COMMITS",
        "hoodie.compact.inline.max.delta.commits": "1",
    }


def log_compaction_options(blocks: int) -> dict[str, str]:
    """Make one log file of the logs of each file group that has so many blocks of them, or more."""
    return {
        "hoodie.log.compaction.inline": "true",
        "hoodie.log.compaction.blocks.threshold": str(blocks),
    }


_PARTITION_DAYS = "hoodie.partition.ttl.strategy.days.retain"


def read_partition_days(given: Mapping[str, str]) -> int | None:
    """How long a table's options keep partitions; None for ever."""
    text = given.get(_PARTITION_DAYS, "")
    return int(text) if text.isdecimal() and int(text) > 0 else None
