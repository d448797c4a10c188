"""The order in which tables are copied: each before those it refers to. Pure."""

from headwater.config.settings import Settings
from headwater.lake.layout import list_tables


def order_for_copy(settings: Settings) -> list[str]:
    """Return all tables, each before its sources, so that a copy of a source has what its consumers name.

    - chunks: its checkpoint names a commit of the search table;
    - ledger: its watermarks name commits of data tables, and an older ledger catches up from those;
    - derived tables, the last of a chain first: their checkpoints name commits of their source;
    - tables built from objects: their checkpoints name offsets in the events;
    - tombstones: a batch writes them before it commits rows, so they have at least the deletes of the tables;
    - quarantine: a batch quarantines before it commits rows, so it has at least what the tables report;
    - reconciles: a pass reports events that it has appended;
    - events, which refer to no table. A retry appends its event before it removes an item of quarantine.
    """
    derived = [*reversed(settings.derived_tables)]
    own = ["tombstones", "quarantine", "reconciles", "events"]
    wanted = ["chunks", "ledger", *derived, *settings.object_tables, *own]
    known = list_tables(settings)
    return [name for name in wanted if name in known]
