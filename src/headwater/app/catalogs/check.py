"""Checks that the configured catalogs answer."""

from collections.abc import Callable, Iterator
from contextlib import closing

from headwater.config.catalogs import CatalogConfig
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError
from headwater.lake.catalogs import build_catalog
from headwater.lake.catalogs.protocol import Catalog
from headwater.sources.finding import SetupFinding


def iter_catalog_findings(
    settings: Settings, build: Callable[[CatalogConfig], Catalog] = build_catalog
) -> Iterator[SetupFinding]:
    """Yield one finding per catalog. An error becomes a warning: a run continues without the catalog."""
    for config in settings.catalogs:
        name = f"catalog.{config.label}"
        table = next(iter(config.select(settings.tables)), None)
        if table is None:
            yield SetupFinding(name, "warning", "no table is synced to it", "remove names from `exclude`")
            continue
        try:
            with closing(build(config)) as catalog:
                held = catalog.read(config.name_entry(table).lower())
        except HeadwaterError as error:
            yield SetupFinding(name, "warning", error.message, error.hint)
            continue
        state = "exists" if held else "does not exist yet"
        yield SetupFinding(
            name, "ok", f"the catalog responds; {config.database}.{config.name_entry(table)} {state}"
        )
