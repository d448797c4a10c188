"""Lists and recommends the indexes of a table, and validates changes to them. No JVM. `lake.indexes.building`
creates, drops and repairs indexes."""

from headwater.lake.index_functions import FUNCTIONS
from headwater.lake.indexes.advice import Advice, TableProfile, advise
from headwater.lake.indexes.listing import TableIndex, TableIndexes, WriteIndex, list_indexes
from headwater.lake.indexes.planning import (
    IndexRequest,
    PlannedIndex,
    plan_creation,
    plan_drop,
    plan_rebuild,
    plan_repair,
)
from headwater.lake.indexes.profile import read_profile

__all__ = [
    "FUNCTIONS",
    "Advice",
    "IndexRequest",
    "PlannedIndex",
    "TableIndex",
    "TableIndexes",
    "TableProfile",
    "WriteIndex",
    "advise",
    "list_indexes",
    "plan_creation",
    "plan_drop",
    "plan_rebuild",
    "plan_repair",
    "read_profile",
]
