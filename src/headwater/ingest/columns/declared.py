"""The columns that `schema` of a table declares, and the options that pass it to the reader."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.types import StructType

from headwater.config.table.schema_source import SchemaConfig
from headwater.errors import ConfigError, RegistryUnavailableError
from headwater.ingest.columns.schema import from_arrow, parse_ddl
from headwater.ingest.formats.binary_records.record_schema import REGISTRY_OPTION, SCHEMA_OPTION
from headwater.ingest.formats.envelopes import read_envelope, unwrap_schema
from headwater.ingest.formats.reader_options import ReaderOptions

_REFRESHED_AFTER = 60.0
"""Seconds after which a file, or the latest version of a subject, is read again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Declared:
    """`options` are further options of the table's reader."""

    schema: StructType
    options: Mapping[str, str] = field(default_factory=dict)


def read_declared(name: str, config: SchemaConfig, options: Mapping[str, str]) -> Declared:
    """Read the columns of a table; of envelopes, those of the rows in them.

    `options` are those of its reader. Raises ConfigError for a schema that cannot be used, and
    RegistryUnavailableError.
    """
    if config.ddl is not None:
        return Declared(parse_ddl(name, "schema", config.ddl))
    # A table without a schema of Avro needs no library for it.
    from headwater.ingest.formats.binary_records.files import list_columns, read_schema

    schema = read_schema(config)
    columns, envelope = list_columns(schema), read_envelope(ReaderOptions(options))
    if envelope and _is_struct(columns, envelope.after):
        columns = unwrap_schema(schema.origin, columns, envelope)
    further = {SCHEMA_OPTION: schema.to_option()}
    if config.registry is not None:
        further[REGISTRY_OPTION] = config.registry
    return Declared(from_arrow(columns), further)


class DeclaredColumns:
    """The declared columns of one table, which follow its file or the latest version of its subject.

    Used by one thread.
    """

    def __init__(
        self,
        name: str,
        config: SchemaConfig,
        options: Mapping[str, str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._config = config
        self._options = options
        self._now = now
        self._known: Declared | None = None
        self._read_at = 0.0

    def read(self) -> Declared:
        """Return the same object until the schema changes. Raises as `read_declared`, but only at first."""
        if self._known is not None and not self._may_have_changed():
            return self._known
        try:
            found = read_declared(self._name, self._config, self._options)
        except (ConfigError, RegistryUnavailableError) as error:
            if self._known is None:
                raise
            # Records of known schemas can be read, and the columns are as they were.
            _log.warning("table %s: schema not read again; keeping the known one: %s", self._name, error)
            found = self._known
        self._read_at = self._now()
        if found != self._known:
            self._known = found
        return self._known

    def _may_have_changed(self) -> bool:
        config = self._config
        is_latest = config.registry is not None and config.version is None
        return (is_latest or config.file is not None) and self._now() - self._read_at >= _REFRESHED_AFTER


def _is_struct(columns: pa.Schema, name: str) -> bool:
    return name in columns.names and pa.types.is_struct(columns.field(name).type)
