"""The public Python API; `headwater` exports it. Importing it starts nothing."""

from headwater.api.lake import Lake, open_lake
from headwater.api.listing import Listing
from headwater.api.quarantine import Quarantine
from headwater.api.rows import Rows
from headwater.api.searching import Recommendation
from headwater.api.table import Changes, Table

__all__ = ["Changes", "Lake", "Listing", "Quarantine", "Recommendation", "Rows", "Table", "open_lake"]
