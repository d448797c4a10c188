"""Finds tables of the lake whose Hudi table version differs from the version written here."""

from collections.abc import Iterator

from headwater.config.settings import Settings
from headwater.errors import HeadwaterError
from headwater.lake.layout import find_address, list_tables
from headwater.lake.migration.versions import NEWEST_VERSION
from headwater.lake.table_folder import TableFolder
from headwater.lake.typed_options.differences import read_write_version
from headwater.sources.finding import SetupFinding

VERSION = "table.version"


def check_versions(settings: Settings) -> list[SetupFinding]:
    """Return a problem for each table that the next write would reject. Ignores missing and unreadable
    tables: other checks report those."""
    return list(_iter_findings(settings))


def _iter_findings(settings: Settings) -> Iterator[SetupFinding]:
    for name in list_tables(settings):
        try:
            properties = TableFolder(find_address(settings, name)).properties
        except HeadwaterError:
            continue
        there = properties.read_number("table_version", 0)
        config = settings.tables.get(name)
        wanted = read_write_version(config.hoodie if config else {}, there)
        if there != wanted:
            verb = "upgrade" if there < NEWEST_VERSION else "downgrade"
            yield SetupFinding(
                VERSION,
                "problem",
                f"table {name} has table version {there}; this configuration writes version {wanted}",
                f"run headwater table {name} {verb} --dry-run to preview the change",
            )
