"""Whether the folders of a table's partitions have URL-encoded names: decided when the table is created."""

from headwater.config.table import TableConfig
from headwater.lake.options import TABLE_PROPERTY_KEYS
from headwater.lake.table import Table


def settle_partition_encoding(config: TableConfig, table: Table) -> TableConfig:
    """Return the configuration with `url_encode_partitions` as the table has it.

    A configuration that does not say keeps what an existing table has. A new table is encoded: without,
    values with a slash are folders below each other, and readers miss the rows of one of them. Raises
    `LakeError`.
    """
    if not config.partition or config.url_encode_partitions is not None:
        return config
    timeline = table.load_timeline()
    found = timeline.read_properties() if timeline.exists() else None
    is_encoded = found is None or found.get(TABLE_PROPERTY_KEYS["url_encoded"]) == "true"
    return config.model_copy(update={"url_encode_partitions": is_encoded})
