"""What a session says of its executors, and how shuffles follow them."""

from pyspark.sql import SparkSession

from headwater.lake.executors import count_cores, fit_shuffles, has_executors
from headwater.lake.jvm import is_context_stopped

FIRST_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"


def test_executor_of_a_local_master_is_the_driver(spark: SparkSession) -> None:
    assert not has_executors(spark)
    assert count_cores(spark) == 2
    assert not is_context_stopped(spark)


def test_configured_shuffle_partitions_are_left_as_they_are(spark: SparkSession) -> None:
    assert spark.sparkContext.getConf().contains("spark.sql.shuffle.partitions")
    fit_shuffles(spark)
    assert spark.conf.get(FIRST_PARTITIONS, None) is None
