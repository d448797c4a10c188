"""Checks the schemas that tables name in files and registries, before Spark starts."""

import logging
from collections.abc import Iterator

from headwater.config.file_format import RECORD_ENCODINGS
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.config.table.schema_source import SchemaConfig
from headwater.errors import ConfigError, HeadwaterError, RegistryUnavailableError
from headwater.sources.finding import SetupFinding, to_finding

_log = logging.getLogger(__name__)


def check_schemas(settings: Settings) -> None:
    """Raise `ConfigError` with all schemas that cannot be used. Warns of a registry that does not answer."""
    problems = []
    for name, _, error in _iter_checked(settings):
        if isinstance(error, RegistryUnavailableError):
            _log.warning("table %s: schema not checked: %s", name, error.message)
        elif error is not None:
            problems.append(f"tables.{name}.schema: {error.message}; {error.hint}")
    if problems:
        raise ConfigError("\n".join(problems), hint="correct them and run `headwater config check`")


def iter_schema_findings(settings: Settings) -> Iterator[SetupFinding]:
    """Yield a finding for each table that names a schema in a file or a registry."""
    for name, config, error in _iter_checked(settings):
        where = config.file or f"subject {config.subject} of {config.registry}"
        if error is None:
            yield SetupFinding(f"tables.{name}.schema", "ok", f"read from {where}")
        else:
            yield to_finding(f"tables.{name}.schema", error)


def _iter_checked(settings: Settings) -> Iterator[tuple[str, SchemaConfig, HeadwaterError | None]]:
    for name, table in settings.object_tables.items():
        if table.schema_ is None or table.schema_.ddl is not None:
            continue
        try:
            _check(table, table.schema_)
        except (ConfigError, RegistryUnavailableError) as error:
            yield name, table.schema_, error
        else:
            yield name, table.schema_, None


def _check(table: TableConfig, config: SchemaConfig) -> None:
    # A configuration without a schema of Avro needs no library for it.
    from headwater.ingest.formats.binary_records.files import list_columns, read_schema

    schema = read_schema(config)
    list_columns(schema)
    encoding = RECORD_ENCODINGS.get(table.effective_format)
    if encoding not in (None, schema.kind):
        raise ConfigError(
            f"{schema.origin} has type {schema.kind}; `format: {table.effective_format}` requires {encoding}",
            hint="set the other `format`, or another `subject`",
        )
