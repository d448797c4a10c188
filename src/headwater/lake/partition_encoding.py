"""Chooses URL encoding of partition folder names, which is fixed when the table is created."""

from headwater.config.table import TableConfig
from headwater.lake.options import TABLE_PROPERTY_KEYS
from headwater.lake.table import Table


def settle_partition_encoding(config: TableConfig, table: Table) -> TableConfig:
    """Return the configuration with `url_encode_partitions` as the table has it.

    Without an explicit setting, an existing table keeps its own, and a new table is encoded. Without
    encoding, a value with a slash becomes nested folders, and readers miss rows. Hudi's own key in `hoodie`
    overrides the setting, as in every write. Raises `LakeError`.
    """
    if not config.partition:
        return config
    key, is_encoded = TABLE_PROPERTY_KEYS["url_encoded"], config.url_encode_partitions
    if key in config.hoodie:
        is_encoded = config.hoodie[key].lower() == "true"
    if is_encoded is None:
        timeline = table.load_timeline()
        is_encoded = not timeline.exists() or timeline.read_properties().get(key) == "true"
    return config.model_copy(update={"url_encode_partitions": is_encoded})
