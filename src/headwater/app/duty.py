"""Which table services a configuration leaves to a process other than the writer."""

from collections.abc import Sequence

from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.lake.services.maintenance import Duty


def find_duty(config: TableConfig) -> Duty | None:
    """Return the services left to the worker; None when the writer runs them all."""
    if config.services == "inline":
        return None
    is_all = config.services == "async"
    return Duty(
        plans=is_all,
        clusters=config.max_pending_clustering if is_all and config.clustering is not None else 0,
        cleans=is_all,
        expires=is_all and config.keep_partition_days is not None,
        indexes=config.indexing == "async",
    )


def list_served(settings: Settings, only: Sequence[str]) -> list[str]:
    """Return the tables that leave services to the worker. Raises `UsageError` when there are none, or when
    `only` names another table."""
    tables = settings.tables
    served = [name for name, config in tables.items() if find_duty(config) is not None]
    for name in only:
        if name not in served:
            known = name in tables
            hint = f"set tables.{name}.services" if known else f"tables: {', '.join(tables)}"
            text = (
                "leaves no services to `services run`: its writer runs them all"
                if known
                else "is not configured"
            )
            raise UsageError(f"table {name} {text}", hint=hint)
    if not served:
        raise UsageError(
            "no table leaves services to `services run`: their writers run them all",
            hint="set `services: semi_async` or `services: async` for a table",
        )
    return [name for name in served if not only or name in only]
