"""Which configurations can continue a table that HoodieStreamer wrote. Pure."""

from collections.abc import Iterator

from headwater.config.table import TableConfig
from headwater.lake.typed_options.continuing import REBUILD

_ORIGIN = "rows of HoodieStreamer do not name their object"


def iter_mode_problems(config: TableConfig) -> Iterator[str]:
    """Yield why no table of HoodieStreamer can be continued with this configuration."""
    if config.effective_mode == "mirror":
        yield (
            f"mode: mirror: {_ORIGIN}, so that overwritten and removed objects could not retract them; use "
            f"`mode: merge` with a `record_key`, {REBUILD}"
        )
    if config.changes is not None:
        yield f"changes: the rows lack the order of their change records; omit it, {REBUILD}"
    if config.complete_when is not None:
        yield f"complete_when: the table does not record which sets of files it has; omit it, {REBUILD}"
    if config.index is not None and config.index.type == "bucket":
        yield (
            "index: the table does not record how its rows were divided into buckets, and another division "
            "would duplicate rows; omit `index`"
        )
    needs_origin = config.effective_mode == "append" and not config.generated_keys
    if needs_origin and not config.filter_duplicates:
        yield (
            f"mode: append: its record key is the object's row, and {_ORIGIN}; set `generated_keys: true` "
            "if the table has no record key, `filter_duplicates: true` with a `record_key` if it was written "
            f"with --filter-dupes, or only a `record_key` if it was written with --op UPSERT; {REBUILD}"
        )
