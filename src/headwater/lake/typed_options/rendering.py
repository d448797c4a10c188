"""Converts a table's typed options to Hudi's, as the fields of the configuration declare them."""

from collections.abc import Mapping

from headwater.config.hudi.table_option import MERGE_MODE_OPTION, MERGER_OPTION, OptionValue
from headwater.config.table.typed_options import HUDI_OPTIONS
from headwater.lake.typed_options.clustering import render_clustering

MERGE_STRATEGY_OPTION = "hoodie.write.record.merge.strategy.id"
"""Hudi requires the merge strategy ID of a custom merger."""

BY_SPARK = {MERGER_OPTION: "org.apache.hudi.DefaultSparkRecordMerger"}
"""Writes with Spark's own Parquet reader and writer.

They can update files whose lists have the old structure, and convert them to the new one. They also compare
stored and new decimals and dates, which Avro records cannot.
"""


def find_merger(options: Mapping[str, str]) -> str | None:
    """Return the custom merger whose strategy ID is missing from a write's options, else None."""
    is_set = options.get(MERGE_MODE_OPTION) != "CUSTOM" or MERGE_STRATEGY_OPTION in options
    merger = options.get(MERGER_OPTION, "")
    return merger if merger and not is_set and "," not in merger else None


def render_options(given: Mapping[str, OptionValue | None]) -> dict[str, str]:
    """Convert table options, by path relative to the table, to Hudi options; None means not set."""
    rendered: dict[str, str] = {}
    for name, value in given.items():
        if value is not None:
            rendered |= HUDI_OPTIONS[name].render(value)
    return rendered | render_clustering(given)
