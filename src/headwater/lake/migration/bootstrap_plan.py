"""Plans a bootstrap from the files of a folder and validates it. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.lake.typed_options.bootstrap import BootstrapMode

EVERYTHING = ".*"


@dataclass(frozen=True, slots=True)
class BootstrapRequest:
    """A bootstrap request; `source` is a folder of Parquet or ORC files.

    Partitions whose path matches `regex` use `mode`, others the other mode.
    """

    source: str
    mode: BootstrapMode = "metadata_only"
    regex: str = EVERYTHING

    @property
    def is_metadata_only(self) -> bool:
        """True if no file is rewritten."""
        return self.mode == "metadata_only" and self.regex == EVERYTHING


@dataclass(frozen=True, slots=True)
class SourcePartition:
    """One folder of source files: `path` relative to the source, empty for the source itself."""

    path: str
    files: int
    mode: BootstrapMode


@dataclass(frozen=True, slots=True)
class BootstrapPlan:
    """The planned table: `rows` counts all source rows, `columns` are without Hudi's own."""

    source: str
    file_format: str
    rows: int
    columns: tuple[str, ...]
    partitions: tuple[SourcePartition, ...]


def list_partitions(folders: Sequence[str], request: BootstrapRequest) -> tuple[SourcePartition, ...]:
    """Group the files by folder and choose the mode of each; `folders` has one entry per file.

    Raises `UsageError` for an invalid pattern, or one that matches nothing.
    """
    try:
        pattern = re.compile(request.regex)
    except re.error as error:
        raise UsageError(
            f"--regex {request.regex}: {error}", hint="for example: --regex 'day=2026-05-.*'"
        ) from error
    other: BootstrapMode = "full_record" if request.mode == "metadata_only" else "metadata_only"
    counted = sorted(Counter(folders).items())
    found = tuple(
        SourcePartition(path, files, request.mode if pattern.fullmatch(path) else other)
        for path, files in counted
    )
    if all(partition.mode == other for partition in found):
        raise UsageError(
            f"--regex {request.regex} matches no partition of {request.source}",
            hint="it must match a whole path: " + ", ".join(path for path, _ in counted[:10]),
        )
    return found


def check_config(name: str, config: TableConfig) -> None:
    """Raise `UsageError` with all reasons why the configured table cannot be created from existing files."""
    problems = list(_iter_config_problems(config))
    if problems:
        raise UsageError(
            f"table {name} cannot be bootstrapped: {'; '.join(problems)}",
            hint="change its configuration; or let `run` ingest the files as objects of its source",
        )


def _iter_config_problems(config: TableConfig) -> Iterator[str]:
    if config.effective_mode != "merge":
        yield f"`mode: {config.effective_mode}` identifies rows by their object; use `mode: merge`"
    elif config.changes is not None:
        yield "`changes` is set: existing rows have no place among the changes"
    elif config.complete_when is not None:
        yield "`complete_when` is set: the first set of files would replace existing rows"
    elif not config.ordering:
        yield "`ordering` is missing: existing rows have no event time"
    if config.index is not None and config.index.type == "bucket":
        yield "`index: bucket` computes the file of a key, but the files already exist"
    if config.cdc != "off":
        yield f"the change log of `cdc: {config.cdc}` would lack the existing rows"
    if config.drop_partition_columns:
        yield "`drop_partition_columns` applies only to files that headwater writes"


def check_source(
    config: TableConfig, source: str, columns: Sequence[str], partitions: Sequence[SourcePartition]
) -> None:
    """Raise `UsageError` with all reasons why the files do not match the configured table."""
    problems = [*_iter_column_problems(config, columns), *_iter_folder_problems(config, partitions)]
    if problems:
        raise UsageError(
            f"{source} does not match the configured table: {'; '.join(problems)}",
            hint=f"columns of the files: {', '.join(columns)}",
        )


def _iter_column_problems(config: TableConfig, columns: Sequence[str]) -> Iterator[str]:
    for key, names in (
        ("record_key", config.record_key),
        ("ordering", config.ordering),
        ("partition", config.partition),
    ):
        missing = [name for name in names if name not in columns]
        if missing:
            yield f"no column {', '.join(missing)} (`{key}`)"
    own = [name for name in columns if name.startswith("_hoodie_")]
    if own:
        yield f"{own[0]} is a column of Hudi: this is already a Hudi table; upgrade it instead"


def _iter_folder_problems(config: TableConfig, partitions: Sequence[SourcePartition]) -> Iterator[str]:
    wanted = config.partition
    for partition in partitions:
        parts = partition.path.split("/") if partition.path else []
        fits = len(parts) == len(wanted) and (
            config.partition_style != "hive"
            or all(part.startswith(f"{name}=") for part, name in zip(parts, wanted, strict=True))
        )
        if not fits:
            style = "/".join(f"{name}=..." if config.partition_style == "hive" else "..." for name in wanted)
            here = "the folder itself"
            yield f"files are stored in {partition.path or here}, not in {style or here} (`partition`)"
            return
