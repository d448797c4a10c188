"""What is done to a table beside its pipeline, as Hudi's options."""

from collections.abc import Sequence

NO_COMPACTION = {"hoodie.compact.inline": "false"}
"""For a write beside a table's own writer: it would carry out a plan that the other is carrying out."""

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
