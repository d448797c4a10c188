"""The whole configuration: one YAML file plus the environment."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, get_args

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from headwater.config.catalogs import CatalogConfig, OwnTable, iter_catalog_problems
from headwater.config.file_paths import resolve_path
from headwater.config.hudi.checking import iter_option_warnings
from headwater.config.hudi.lock import LockConfig
from headwater.config.lake_storage import LakeStorageConfig, iter_store_problems
from headwater.config.lineage import LineageConfig
from headwater.config.observability import ObservabilityConfig
from headwater.config.problems.nearest import find_nearest
from headwater.config.problems.problem import KeyPath
from headwater.config.search import SearchConfig
from headwater.config.section import Duration, Section, SectionError
from headwater.config.slo import SloConfig
from headwater.config.source import CaptureConfig, OneOrSeveralSources, ReconcileConfig, SourceConfig
from headwater.config.source.combinations import iter_name_problems, iter_source_problems
from headwater.config.spark import SparkConfig
from headwater.config.stop_when import StopWhenConfig
from headwater.config.table import TableConfig
from headwater.config.table.derived import iter_order_problems, order_tables
from headwater.config.table.lock_checks import iter_lock_problems
from headwater.config.table.message_problems import iter_message_problems
from headwater.config.table.patterns import iter_folder_problems
from headwater.config.webhooks import WebhooksConfig
from headwater.observability.redaction import redact

_POOLS = ("capture", "reconcile", "retries", "clean-source", "index")
VECTORIZED_ORC = "spark.sql.orc.enableVectorizedReader"
RESERVED_TABLE_NAMES = frozenset({*get_args(OwnTable), "chunks", "tombstones"})


def _check_table_name(name: str) -> str:
    if name in RESERVED_TABLE_NAMES:
        raise ValueError(f"{name!r} is the name of one of headwater's own tables; choose another name")
    return name


def _resolve_lake(lake: str, info: ValidationInfo) -> str:
    return lake if "://" in lake else str(resolve_path(Path(lake), info))


TableName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,127}$"), AfterValidator(_check_table_name)]


class Settings(Section):
    """headwater.yaml."""

    source: OneOrSeveralSources = Field(
        description="The bucket or folder to ingest, or a list of several, each with a `name`."
    )
    lake: Annotated[str, AfterValidator(_resolve_lake)] = Field(
        min_length=1,
        examples=["s3a://acme-lake/bronze"],
        description="Location of the tables: a folder (relative to this file), `s3a://`, `gs://`, "
        "`abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH` or any Hadoop path.",
    )
    lake_storage: LakeStorageConfig = Field(
        LakeStorageConfig(), description="The store of an `s3a://`, `gs://` or `abfss://` lake."
    )
    lock: LockConfig | None = Field(
        None,
        description="Lock between concurrent writers of a table. Default: none; no other process may write "
        "the tables.",
    )
    capture: CaptureConfig = Field(CaptureConfig(), description="Commits of the events table.")
    reconcile: ReconcileConfig = Field(
        ReconcileConfig(), description="Listings of the source that find objects with lost notifications."
    )
    stop_timeout: Duration = Field(
        25,
        description="Time in which a command completes its commits after SIGTERM or Ctrl-C. Then it ends, "
        "and the next start resumes from the last commit.",
        examples=["2m"],
    )
    stop_when: StopWhenConfig = Field(
        StopWhenConfig(),
        description="When a run without `--once` ends by itself. Default: never, only by a signal.",
    )
    tables: dict[TableName, TableConfig] = Field(
        min_length=1,
        description="Data tables by name.",
        examples=[{"orders": {"path": "orders/**/*.json"}}],
    )
    catalogs: tuple[CatalogConfig, ...] = Field(
        (), description="Catalogs to which data tables are synced for query engines."
    )
    lineage: LineageConfig | None = Field(
        None,
        description="Collector that receives an OpenLineage event for each batch, with inputs and output. "
        "Requires `pip install 'headwater[lineage]'`.",
    )
    search: SearchConfig | None = Field(
        None,
        description="Search over one table. Requires `pip install 'headwater[search]'`.",
    )
    observability: ObservabilityConfig = Field(
        ObservabilityConfig(), description="How a run can be watched from outside."
    )
    webhooks: WebhooksConfig = Field(
        WebhooksConfig(), description="Where a run reports commits and quarantined data."
    )
    slo: SloConfig = Field(
        SloConfig(),
        description="Service level objectives, from which `headwater alerts` builds alerting rules.",
    )
    spark: SparkConfig = Field(SparkConfig(), description="Settings of the Spark session.")

    @property
    def sources(self) -> tuple[SourceConfig, ...]:
        """Return all sources: those of the list, or the only one."""
        return self.source if isinstance(self.source, tuple) else (self.source,)

    def iter_sources(self) -> Iterator[tuple[KeyPath, SourceConfig]]:
        """Yield each source with its path in the configuration."""
        is_list = isinstance(self.source, tuple)
        yield from ((("source", at) if is_list else ("source",), one) for at, one in enumerate(self.sources))

    @property
    def listed_sources(self) -> tuple[SourceConfig, ...]:
        """Return the sources with different objects: several may differ in the queue only."""
        found: dict[tuple[str, str], SourceConfig] = {}
        for source in self.sources:
            found.setdefault((source.known_location, source.prefix), source)
        return tuple(found.values())

    @property
    def is_watched(self) -> bool:
        """Return whether a source is a folder, which only one process can watch."""
        return any(source.is_watched for source in self.sources)

    def list_sources_of(self, table: str) -> tuple[SourceConfig, ...]:
        """Return the sources with different objects of which a table takes objects."""
        names = self.tables[table].source
        chosen = {(one.known_location, one.prefix) for one in self.sources if not names or one.name in names}
        return tuple(one for one in self.listed_sources if (one.known_location, one.prefix) in chosen)

    @property
    def object_tables(self) -> dict[str, TableConfig]:
        """Return the data tables that are built from objects."""
        return {name: table for name, table in self.tables.items() if table.from_ is None}

    @property
    def derived_tables(self) -> dict[str, TableConfig]:
        """Return the data tables that are built from other tables, each after its source."""
        ordered = order_tables(self.tables)
        return {name: self.tables[name] for name in ordered if self.tables[name].from_ is not None}

    def to_effective(self) -> dict[str, object]:
        """Return all keys with their effective values, as JSON-like data; hides secrets from the
        environment."""
        data = self.model_dump(mode="json", by_alias=True)
        for name in self.derived_tables:
            table = self.tables[name]
            data["tables"][name]["refresh"] = table.effective_refresh
            data["tables"][name]["group_key"] = list(table.effective_group_key)
        for name, table in self.object_tables.items():
            data["tables"][name] |= {
                "format": table.effective_format,
                "mode": table.effective_mode,
                "operation": table.effective_operation,
                "on_object_removed": table.effective_on_object_removed,
            }
        return {key: redact(value, key) for key, value in data.items()}

    def iter_warnings(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield settings that are allowed, but maybe unintended, with their paths."""
        for name, table in self.tables.items():
            for key, text in iter_option_warnings(table.hoodie):
                yield ("tables", name, "hoodie", key), text
        for path, text in self.spark.iter_warnings():
            yield ("spark", *path), text

    @model_validator(mode="after")
    def _check_sources(self) -> "Settings":
        if isinstance(self.source, tuple):
            # Other problems name the sources.
            problems = list(iter_name_problems(self.source)) or list(iter_source_problems(self.source))
            if problems:
                raise SectionError([(("source", *path), text) for path, text in problems])
        return self

    @model_validator(mode="after")
    def _check_table_sources(self) -> "Settings":
        known = [source.name for source in self.sources if source.name]
        problems = [
            problem for name, table in self.tables.items() for problem in _iter_unusable(name, table, known)
        ]
        for name, table in self.object_tables.items():
            if not problems and table.complete_when is not None and len(self.list_sources_of(name)) > 1:
                text = (
                    "a set of files is in one source, and the table takes objects of several; set `source` "
                    f"of the table. Allowed: {', '.join(known)}"
                )
                problems.append((("tables", name, "complete_when"), text))
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_from(self) -> "Settings":
        problems = list(iter_order_problems(self.tables))
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_paths(self) -> "Settings":
        problems = [
            problem
            for source in self.sources
            if source.type == "local"
            for problem in iter_folder_problems(
                source.path,
                {
                    name: table
                    for name, table in self.object_tables.items()
                    if source in self.list_sources_of(name)
                },
            )
        ]
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_messages(self) -> "Settings":
        problems = [
            problem
            for name, table in self.object_tables.items()
            for problem in iter_message_problems(
                name, table, {source.type == "kafka" for source in self.list_sources_of(name)}
            )
        ]
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_search(self) -> "Settings":
        if self.search is None:
            return self
        table = self.tables.get(self.search.table)
        if table is None:
            text = f"unknown table {self.search.table!r}. Configured tables: {', '.join(self.tables)}"
            raise SectionError([(("search", "table"), text)])
        return self

    @model_validator(mode="after")
    def _check_lock(self) -> "Settings":
        problems = list(
            iter_lock_problems(
                self.lock, self.lake, self.tables, (*self.spark.packages, *self.spark.config.values())
            )
        )
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_stores(self) -> "Settings":
        problems = list(iter_store_problems(self.lake, self.lake_storage, list(self.iter_sources())))
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_catalogs(self) -> "Settings":
        problems = list(iter_catalog_problems(self.catalogs, self.tables, self.lake))
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_pools(self) -> "Settings":
        known = {*self.tables, *(f"services-{name}" for name in self.tables), *_POOLS}
        unknown = [name for name in self.spark.pools if name not in known]
        if unknown:
            text = "unknown pool {!r}. Allowed: {}"
            shown = ", ".join(sorted(known))
            raise SectionError([(("spark", "pools", name), text.format(name, shown)) for name in unknown])
        return self

    @model_validator(mode="after")
    def _check_orc(self) -> "Settings":
        is_readable = self.spark.config.get(VECTORIZED_ORC) == "false"
        tables = [name for name, table in self.tables.items() if table.base_file_format == "orc"]
        if tables and not is_readable:
            text = (
                "'orc': with Hudi 1.2, Spark cannot read such a table with its vectorized ORC reader; set "
                f"`spark.config: {{{VECTORIZED_ORC}: false}}`, or use parquet"
            )
            raise SectionError([(("tables", name, "base_file_format"), text) for name in tables])
        return self

    @model_validator(mode="after")
    def _check_clean_source(self) -> "Settings":
        problems = [
            problem for path, source in self.iter_sources() for problem in self._iter_unclean(path, source)
        ]
        if problems:
            raise SectionError(problems)
        return self

    def _iter_unclean(self, path: KeyPath, source: SourceConfig) -> Iterator[tuple[KeyPath, str]]:
        """Yield what conflicts with the cleaning of a source."""
        if source.clean_source == "off":
            return
        sets = [name for name, table in self.object_tables.items() if table.complete_when is not None]
        if unclean := next((name for name in sets if source in self.list_sources_of(name)), None):
            text = (
                f"{source.clean_source!r} cannot be combined with `complete_when` (table {unclean}): "
                "a set would seem to lose files. Allowed: off"
            )
            yield (*path, "clean_source"), text
        if source.clean_source != "move":
            return
        target, lake = str(source.clean_source_move_to), self.lake
        if source.type != "local":
            target, lake = source.clean_source_target, lake.partition("://")[2]
        if f"{target.rstrip('/')}/".startswith(f"{lake.rstrip('/')}/"):
            text = f"{target!r} is inside the lake, among the tables' files; choose another location"
            yield (*path, "clean_source_move_to"), text

    @model_validator(mode="after")
    def _check_written_files(self) -> "Settings":
        files = {
            ("lineage", "file"): self.lineage.file if self.lineage else None,
            ("observability", "log_file"): self.observability.log_file,
        }
        folders = [("lake", Path(self.lake))] if "://" not in self.lake else []
        folders += [("source folder", source.path) for source in self.sources if source.type == "local"]
        problems = [
            (key, f"{str(file)!r} is inside the {kind} {str(folder)!r}; choose another location")
            for key, file in files.items()
            for kind, folder in folders
            if file is not None and file.resolve().is_relative_to(folder.resolve())
        ]
        if problems:
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _check_local_lake(self) -> "Settings":
        folders = [source.path.resolve() for source in self.sources if source.type == "local"]
        for folder in folders if "://" not in self.lake else ():
            lake = Path(self.lake).resolve()
            if lake.is_relative_to(folder):
                text = (
                    f"{str(lake)!r} is inside the source folder {str(folder)!r}: headwater would ingest its "
                    "own tables; choose another location"
                )
                raise SectionError([(("lake",), text)])
        return self


def _iter_unusable(name: str, table: TableConfig, known: Sequence[str]) -> Iterator[tuple[KeyPath, str]]:
    """Yield names of sources that a table cannot take."""
    if table.source and table.from_ is not None:
        text = f"cannot be combined with `from: {table.from_}`: rows come from that table, not from objects"
        yield ("tables", name, "source"), text
        return
    for source in table.source:
        if source not in known:
            near = find_nearest(source, known)
            meant = f" Did you mean {near!r}?" if near else ""
            allowed = ", ".join(known) or "none; give the source a `name`"
            yield ("tables", name, "source"), f"unknown source {source!r}.{meant} Allowed: {allowed}"
