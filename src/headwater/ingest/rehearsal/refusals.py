"""Why a run would reject the existing table with another configuration; reads only."""

from headwater.config.table import TableConfig
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.table import Table
from headwater.lake.typed_options.differences import iter_differences


def list_fixed_differences(name: str, config: TableConfig, table: Table) -> list[str]:
    """Return the differences between fixed properties of the table and the writes of this configuration."""
    timeline = table.load_timeline()
    if not timeline.exists():
        return []
    options = TableWriter(name, config, table).build_options().to_hoodie()
    return [
        f"{found.name} is {found.there or found.nothing} in the table, "
        f"and {found.here or found.nothing} in the new file"
        for found in iter_differences(timeline.read_properties(), options)
    ]
