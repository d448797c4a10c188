"""Reads from the events table which ranges of a Kafka cluster were captured."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from headwater.capture.events_table import EventsTable
from headwater.lake.jvm import explained_lake
from headwater.sources.kafka.ranges import CapturedRanges, OffsetRange, Partition, Position

_FIELDS = (
    "topic string, topicId string, generation int, partition int, begin bigint, end bigint, "
    "partitionBegin bigint"
)


def read_captured_ranges(events: EventsTable, cluster: str) -> CapturedRanges:
    """Return how far each partition is captured, and what is missing before that. Raises `LakeError`."""
    with explained_lake(events.path):
        snapshot = events.read_snapshot()
        if snapshot is None:
            return CapturedRanges({})
        ranges = _select_ranges(snapshot.where((F.col("bucket") == cluster) & (F.col("provider") == "kafka")))
        rows = _group(ranges).collect()
    positions = {}
    missing = []
    for topic, partition, topic_id, generation, begin, end, gaps in rows:
        place = Partition(topic, partition)
        positions[place] = Position(topic_id, generation, begin, end)
        missing += [OffsetRange(place, gap["reached"], gap["begin"]) for gap in gaps]
    return CapturedRanges(positions, sorted(missing))


def _select_ranges(events: DataFrame) -> DataFrame:
    """Select the announced ranges of each topic's newest generation, each with how far those before reach."""
    parsed = events.select(F.from_json("raw", _FIELDS).alias("range")).select("range.*")
    by_partition = Window.partitionBy("topic", "partition")
    newest = parsed.withColumn("newest", F.max("generation").over(by_partition))
    earlier = by_partition.orderBy("begin", "end").rowsBetween(Window.unboundedPreceding, -1)
    current = newest.where((F.col("generation") == F.col("newest")) & F.col("topic").isNotNull())
    reached = F.coalesce(F.max("end").over(earlier), "partitionBegin")
    return current.withColumn("reached", reached)


def _group(ranges: DataFrame) -> DataFrame:
    is_gap = F.col("begin") > F.col("reached")
    return ranges.groupBy("topic", "partition").agg(
        F.max("topicId"),
        F.max("generation"),
        F.min("partitionBegin"),
        F.max("end"),
        F.collect_list(F.when(is_gap, F.struct("reached", "begin"))),
    )
