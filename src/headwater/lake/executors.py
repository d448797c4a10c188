"""The executors of a session: whether they are processes of their own, and how many cores they have."""

from pyspark.sql import SparkSession

from headwater.lake.prerequisites.spark_settings import is_local


def has_executors(spark: SparkSession) -> bool:
    """True if tasks run in other processes than the driver."""
    return not is_local(spark.sparkContext.master or "local")


def count_cores(spark: SparkSession) -> int:
    """Return the cores of the executors that are registered now, at least 2 on a cluster."""
    return spark.sparkContext.defaultParallelism
