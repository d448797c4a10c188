"""Which record index a table has, read by the session: Hudi's properties do not say its kind."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from headwater.lake.auto_index import find_record_index
from headwater.lake.index_definitions import RECORD_INDEX, find_index_options, parse_index_definitions
from headwater.lake.jvm import read_file
from headwater.lake.options import RecordIndex
from headwater.lake.properties import TableProperties


def read_record_index(spark: SparkSession, path: str, properties: Mapping[str, str]) -> RecordIndex | None:
    """Return the record index of the table with these properties, None without one. Raises `LakeError`."""
    found = TableProperties(properties)
    built = found.read_list("metadata_partitions")
    definitions = found.read("index_definitions")
    if RECORD_INDEX not in built or not definitions:
        return find_record_index(built, {})
    text = read_file(spark, f"{path}/{definitions}").decode()
    return find_record_index(built, find_index_options(parse_index_definitions(text, built), RECORD_INDEX))
