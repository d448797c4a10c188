"""Writes headwater.yaml and its schema for editors; never writes a file that does not load."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headwater.config.environment import DEFAULT_CONFIG_NAME
from headwater.config.loader import parse_settings
from headwater.config.reference import render_schema
from headwater.config.scaffold.survey import TableProposal, survey_folder
from headwater.errors import UsageError

# Hidden: a source folder that contains the configuration must not ingest the schema as data.
SCHEMA_PATH = ".headwater/schema.json"
EXAMPLE_QUEUE_URL = "https://sqs.eu-central-1.amazonaws.com/123456789012/{bucket}"

_HEAD = """\
# yaml-language-server: $schema={schema}
#
# headwater.yaml: the tables below follow the objects in the source.
#   headwater config check    validate this file
#   headwater run --once      ingest all pending objects, then exit
#   headwater run             ingest continuously
#   headwater config schema   print all keys, as JSON Schema
# Any key can also come from the environment: HEADWATER__LAKE=/data/lake
"""


SourceKind = Literal["local", "s3", "gcs", "azure", "kafka"]

_APPLIES_TO: Mapping[str, tuple[SourceKind, ...]] = {
    "path": ("local",),
    "bucket": ("s3", "gcs"),
    "queue_url": ("s3",),
    "subscription": ("gcs",),
    "account": ("azure",),
    "container": ("azure",),
    "queue": ("azure",),
    "bootstrap": ("kafka",),
    "topic": ("kafka",),
}
_REQUIRED: Mapping[SourceKind, tuple[str, ...]] = {
    "local": (),
    "s3": ("bucket",),
    "gcs": ("bucket",),
    "azure": ("account", "container", "queue"),
    "kafka": ("bootstrap", "topic"),
}
# What is left to do for a source that needs resources.
_CREATE: Mapping[SourceKind, str] = {
    "s3": "create queue and notification with headwater up, or set source.queue.url to an existing queue",
    "gcs": "create topic, subscription and notification with headwater up, or set source.subscription to an "
    "existing subscription",
}


@dataclass(frozen=True, slots=True)
class ScaffoldRequest:
    """The options of `headwater init`. Relative paths are relative to the working folder."""

    folder: Path
    source: SourceKind = "local"
    path: Path | None = None
    lake: str | None = None
    bucket: str | None = None
    queue_url: str | None = None
    subscription: str | None = None
    account: str | None = None
    container: str | None = None
    queue: str | None = None
    bootstrap: str | None = None
    topic: str | None = None
    force: bool = False

    @property
    def needs_resources(self) -> bool:
        """True if `headwater up` has to create what delivers the source's notifications."""
        return self.source in _CREATE and not (self.queue_url or self.subscription)


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The written files; `notes` are sentences on what is left to do."""

    config_path: Path
    schema_path: Path
    tables: tuple[str, ...]
    notes: tuple[str, ...]


def write_scaffold(request: ScaffoldRequest) -> Scaffold:
    """Write the files; create the folder.

    Raises `UsageError` for conflicting options, for an existing headwater.yaml and for an unwritable folder;
    `ConfigError` when the result would not load.
    """
    _check_request(request)
    folder = request.folder.expanduser().absolute()
    config_path, schema_path = folder / DEFAULT_CONFIG_NAME, folder / SCHEMA_PATH
    if config_path.exists() and not request.force:
        raise UsageError(
            f"{config_path} already exists", hint="overwrite it with --force, or specify another folder"
        )
    source_path = (request.path or folder / "landing").expanduser().absolute()
    seen = survey_folder(source_path) if request.source == "local" else []
    text = _render_config(request, folder, source_path, seen)
    # A missing extra may be installed where the configuration is used; `config check` reports it.
    settings = parse_settings(text, config_path, environ={}, installed=lambda _: True)
    try:
        schema_path.parent.mkdir(parents=True, exist_ok=True)
        schema_path.write_text(render_schema(), encoding="utf-8")
        config_path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write {config_path}: {error.strerror}", hint="specify another folder"
        ) from error
    notes = _list_notes(request, source_path, seen)
    return Scaffold(config_path, schema_path, tuple(settings.tables), tuple(notes))


def _check_request(request: ScaffoldRequest) -> None:
    for option, sources in _APPLIES_TO.items():
        if getattr(request, option) and request.source not in sources:
            raise UsageError(
                f"{_format_flag(option)} applies only to --source {' and '.join(sources)}",
                hint=f"omit it for --source {request.source}, or specify another source",
            )
    required = _REQUIRED[request.source]
    missing = [_format_flag(option) for option in required if not getattr(request, option)]
    if missing:
        flags = " ".join(f"{_format_flag(option)} {option.upper()}" for option in required)
        raise UsageError(
            f"--source {request.source} requires {' and '.join(missing)}",
            hint=f"headwater init --source {request.source} {flags}",
        )
    if request.source == "local" and request.path is not None and request.path.expanduser().is_file():
        raise UsageError(f"--path {request.path} is a file", hint="specify the folder that contains it")
    if request.folder.expanduser().is_file():
        raise UsageError(f"{request.folder} is a file", hint="specify a folder for headwater.yaml")


def _format_flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _list_notes(request: ScaffoldRequest, source_path: Path, seen: list[TableProposal]) -> list[str]:
    if request.source != "local":
        create = [_CREATE[request.source]] if request.needs_resources else []
        return [*create, f"adapt the table to your {'messages' if request.source == 'kafka' else 'keys'}"]
    if not source_path.is_dir():
        return [
            f"the source folder {source_path} does not exist yet",
            "adapt the example table to your files",
        ]
    return [] if seen else [f"no data files in {source_path} yet", "adapt the example table to your files"]


def _render_config(
    request: ScaffoldRequest, folder: Path, source_path: Path, seen: list[TableProposal]
) -> str:
    lake = request.lake or "lake"
    if "://" not in lake:
        lake = _format_path(Path(lake).expanduser().absolute() if request.lake else folder / lake, folder)
    if request.source == "s3":
        source = _render_s3_source(request)
    elif request.source == "gcs":
        source = _render_gcs_source(request)
    elif request.source == "azure":
        source = _render_azure_source(request)
    elif request.source == "kafka":
        source = _render_kafka_source(request)
    else:
        path = _quote(_format_path(source_path, folder))
        source = ["  type: local", f"  path: {path}   # the folder to watch"]
    example = TableProposal("landing", "**/*.json", "json")
    if request.topic:
        example = TableProposal(_name_table(request.topic), f"{request.topic}/**", "json")
    tables = [line for table in seen or [example] for line in _render_table(table)]
    head = _HEAD.format(schema=SCHEMA_PATH)
    lake_line = f"lake: {_quote(lake)}   # location of the tables; s3a://bucket/path is allowed, too"
    return "\n".join([head + "source:", *source, lake_line, "tables:", *tables, ""])


def _render_s3_source(request: ScaffoldRequest) -> list[str]:
    bucket = request.bucket or ""
    queue = (
        ["  queue:", f"    url: {_quote(request.queue_url)}"]
        if request.queue_url
        else [
            "  # queue:                         # default: the one that `headwater up` creates",
            f"  #   url: {EXAMPLE_QUEUE_URL.format(bucket=bucket)}",
        ]
    )
    return [
        "  type: s3",
        f"  bucket: {_quote(bucket)}",
        "  # prefix: landing/",
        "  # region: eu-central-1           # default: AWS's default chain, as for credentials",
        "  # endpoint: http://localhost:9000  # an S3-compatible store",
        *queue,
    ]


def _render_gcs_source(request: ScaffoldRequest) -> list[str]:
    subscription = (
        f"  subscription: {_quote(request.subscription)}   # Pub/Sub, with the bucket's notifications"
        if request.subscription
        else f"  # subscription: {request.bucket}   # default: the one that `headwater up` creates"
    )
    return [
        "  type: gcs",
        f"  bucket: {_quote(request.bucket or '')}",
        subscription,
        "  # project: acme-data              # default: that of the credentials",
        "  # prefix: landing/",
    ]


def _render_azure_source(request: ScaffoldRequest) -> list[str]:
    return [
        "  type: azure",
        f"  account: {_quote(request.account or '')}",
        f"  container: {_quote(request.container or '')}",
        "  # prefix: landing/",
        "  queue:",
        f"    name: {_quote(request.queue or '')}   # the storage queue with the events of Event Grid",
        "    # account: acmequeues           # default: that of the container",
    ]


def _render_kafka_source(request: ScaffoldRequest) -> list[str]:
    return [
        "  type: kafka",
        f"  bootstrap: {_quote(request.bootstrap or '')}",
        f"  topics: [{_quote(request.topic or '')}]   # names; with ^ at the begin, regular expressions",
        "  # cluster: production             # its name in the lake; default: bootstrap",
        "  # start_from: latest              # default: the first message that each topic still has",
        "  # options:                        # of the client; login: HEADWATER_KAFKA_USER, _PASSWORD",
        "  #   security.protocol: SASL_SSL",
        "  #   sasl.mechanism: SCRAM-SHA-512",
    ]


def _name_table(topic: str) -> str:
    name = re.sub(r"\W", "_", topic, flags=re.ASCII)
    return name if name[:1].isalpha() else f"t_{name}"


def _render_table(table: TableProposal) -> list[str]:
    count = "1 file" if table.files == 1 else f"{table.files} files"
    lines = [
        f"  {table.name}:"
        + (f"   # {count} found" if table.files else "   # an example: adapt it to your files")
    ]
    lines.append(f"    path: {_quote(table.path)}")
    if table.needs_format:
        lines.append(f"    format: {table.format}")
    if table.options:
        lines += ["    options:", *(f"      {key}: {value}" for key, value in table.options)]
    if table.format == "document":
        return [*lines, "    mode: mirror   # one row per section of a document; rows follow their document"]
    return [
        *lines,
        "    # Each file's rows are appended once. For one row per key, where the newest wins:",
        "    # mode: merge",
        f"    # record_key: {_quote(table.record_key)}",
        f"    # ordering: {_quote(table.ordering)}",
    ]


def _format_path(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()


def _quote(text: str) -> str:
    # A JSON string is always a YAML string.
    return json.dumps(text, ensure_ascii=False)
