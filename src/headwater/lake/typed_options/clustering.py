"""Hudi options for clustering: file sizes, sort order, scheduling and conflict resolution."""

from collections.abc import Mapping, Sequence
from typing import Literal

Layout = Literal["linear", "z-order", "hilbert"]

_PLAN = "hoodie.clustering.plan.strategy"
_TARGET_BYTES = 128 * 1024**2
_GROUP_BYTES = 2 * 1024**3

PLANNED_BY_WORKER = {"hoodie.clustering.async.enabled": "true"}
"""For a client that schedules a clustering when due, and does nothing else."""

_CONCURRENT_WITH_WRITERS = {
    # By default, Hudi rejects every write to a file with a pending clustering plan.
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
    ),
    # The clustering then checks all commits since its plan, and yields to writers.
    "hoodie.write.lock.conflict.resolution.strategy": (
        "org.apache.hudi.client.transaction.PreferWriterConflictResolutionStrategy"
    ),
}


def find_small_bytes(target_bytes: int) -> int:
    """Return the file size in bytes from which files are not rewritten."""
    return target_bytes * 4 // 5


def clustering_options(
    sort: Sequence[str], layout: Layout, small_bytes: int, target_bytes: int, partitions: Sequence[str]
) -> dict[str, str]:
    """Return options that rewrite files below `small_bytes` into sorted files of about `target_bytes`.

    `partitions` are paths; empty for all.
    """
    built = {
        f"{_PLAN}.small.file.limit": str(small_bytes),
        f"{_PLAN}.target.file.max.bytes": str(target_bytes),
        f"{_PLAN}.max.bytes.per.group": str(max(target_bytes, _GROUP_BYTES)),
        "hoodie.layout.optimize.strategy": layout.replace("-", ""),
    }
    if sort:
        built[f"{_PLAN}.sort.columns"] = ",".join(sort)
    if partitions:
        built[f"{_PLAN}.partition.selected"] = ",".join(partitions)
    return built


def render_clustering(given: Mapping[str, object]) -> dict[str, str]:
    """Return additional options for the table options `given`, by path; empty without clustering."""
    after = given.get("clustering.after")
    if after is None:
        return {}
    target = given.get("clustering.target_size") or _TARGET_BYTES
    built = clustering_options((), "linear", find_small_bytes(int(str(target))), int(str(target)), ())
    del built["hoodie.layout.optimize.strategy"]
    # Otherwise, a single small file would be rewritten each time without growing.
    built[f"{_PLAN}.single.group.clustering.enabled"] = "false"
    services = given.get("services")
    if services is None or services == "inline":
        return built | {"hoodie.clustering.inline": "true"}
    built |= {
        "hoodie.clustering.async.max.commits": str(after),
        "hoodie.clustering.inline": "false",
        "hoodie.clustering.schedule.inline": str(services == "semi_async").lower(),
    }
    return built | _CONCURRENT_WITH_WRITERS
