"""Chooses URL encoding of partition folder names, which is fixed when the table is created."""

from headwater.config.table import TableConfig
from headwater.lake.options import TABLE_PROPERTY_KEYS
from headwater.lake.table import Table


def settle_partition_encoding(config: TableConfig, table: Table) -> TableConfig:
    """Return the configuration with `url_encode_partitions` as the table has it.

    Without an explicit setting, an existing table keeps its own, and a new table is encoded. Without
    encoding, a value with a slash becomes nested folders, and readers miss rows. Raises `LakeError`.
    """
    if not config.partition or config.url_encode_partitions is not None:
        return config
    timeline = table.load_timeline()
    found = timeline.read_properties() if timeline.exists() else None
    is_encoded = found is None or found.get(TABLE_PROPERTY_KEYS["url_encoded"]) == "true"
    return config.model_copy(update={"url_encode_partitions": is_encoded})
