"""Inspects a table's timeline and layout without a JVM; each function takes a `TableAddress`."""

from headwater.lake.inspection.actions import Action, WriteStats, list_actions
from headwater.lake.inspection.commits import CommitDetail, list_commits, load_commit
from headwater.lake.inspection.description import TableDescription, describe
from headwater.lake.inspection.growth import Growth, GrowthPoint, read_growth
from headwater.lake.inspection.growth_plot import check_plot, write_plot
from headwater.lake.inspection.layout import FileSlice, TableLayout, parse_small_file_limit, read_layout
from headwater.lake.inspection.partitions import PartitionSummary, list_partitions

__all__ = [
    "Action",
    "CommitDetail",
    "FileSlice",
    "Growth",
    "GrowthPoint",
    "PartitionSummary",
    "TableDescription",
    "TableLayout",
    "WriteStats",
    "check_plot",
    "describe",
    "list_actions",
    "list_commits",
    "list_partitions",
    "load_commit",
    "parse_small_file_limit",
    "read_growth",
    "read_layout",
    "write_plot",
]
