"""Clustering as Hudi's options: what it makes of which files, who plans it, and who gives way to whom."""

from collections.abc import Mapping, Sequence
from typing import Literal

Layout = Literal["linear", "z-order", "hilbert"]

_PLAN = "hoodie.clustering.plan.strategy"
_TARGET_BYTES = 128 * 1024**2
_GROUP_BYTES = 2 * 1024**3

PLANNED_BY_WORKER = {"hoodie.clustering.async.enabled": "true"}
"""For a client that plans a clustering when it is due; nothing else is done by it."""

NOT_PLANNED = {"hoodie.clustering.schedule.inline": "false"}
"""For a write that shall plan none."""

_BESIDE_WRITERS = {
    # By default Hudi refuses every write to a file that a clustering is planned for, until that is done.
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
    ),
    # So the clustering looks at all that was committed since it was planned, and gives way.
    "hoodie.write.lock.conflict.resolution.strategy": (
        "org.apache.hudi.client.transaction.PreferWriterConflictResolutionStrategy"
    ),
}


def find_small_bytes(target_bytes: int) -> int:
    """Files from this size on stay as they are."""
    return target_bytes * 4 // 5


def clustering_options(
    sort: Sequence[str], layout: Layout, small_bytes: int, target_bytes: int, partitions: Sequence[str]
) -> dict[str, str]:
    """Files below `small_bytes` become files of about `target_bytes`, sorted by `sort`; of some
    `partitions` (paths), or of all for none."""
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
    """What clustering needs beside the keys of its own options: by those of a table, `given` by their path;
    nothing for a table without."""
    after = given.get("clustering.after")
    if after is None:
        return {}
    target = given.get("clustering.target_size") or _TARGET_BYTES
    built = clustering_options((), "linear", find_small_bytes(int(str(target))), int(str(target)), ())
    del built["hoodie.layout.optimize.strategy"]
    # A small file that is alone would be written anew each time, and be as small.
    built[f"{_PLAN}.single.group.clustering.enabled"] = "false"
    services = given.get("services")
    if services is None or services == "inline":
        return built | {"hoodie.clustering.inline": "true"}
    built |= {
        "hoodie.clustering.async.max.commits": str(after),
        "hoodie.clustering.inline": "false",
        "hoodie.clustering.schedule.inline": str(services == "semi_async").lower(),
    }
    return built | _BESIDE_WRITERS
