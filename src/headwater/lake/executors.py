"""The executors of a session: whether they are processes of their own, and how many cores they have."""

from functools import lru_cache

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headwater.lake.prerequisites.spark_settings import is_local

_PARTITIONS = "spark.sql.shuffle.partitions"
_FIRST_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
_DEFAULT_PARTITIONS = 200


def has_executors(spark: SparkSession) -> bool:
    """True if tasks run in other processes than the driver."""
    return not is_local(spark.sparkContext.master or "local")


def count_cores(spark: SparkSession) -> int:
    """Return the cores of the executors that are registered now, at least 2 on a cluster."""
    return spark.sparkContext.defaultParallelism


def fit_shuffles(spark: SparkSession) -> None:
    """Start shuffles of SQL with two partitions for each core, if that is more than Spark's default.

    Adaptive execution merges partitions of small data, but never splits them: with the default, 200, the
    cores of a larger cluster would be idle. Hudi's own shuffles have the partitions of the rows written.
    Changes nothing if the number of shuffle partitions is configured.
    """
    if _are_shuffles_configured(spark.sparkContext):
        return
    wanted = str(max(_DEFAULT_PARTITIONS, 2 * count_cores(spark)))
    if spark.conf.get(_FIRST_PARTITIONS, None) != wanted:
        spark.conf.set(_FIRST_PARTITIONS, wanted)


@lru_cache(maxsize=1)
def _are_shuffles_configured(context: SparkContext) -> bool:
    # A hundred round trips to the JVM.
    conf = context.getConf()
    return conf.contains(_PARTITIONS) or conf.contains(_FIRST_PARTITIONS)
