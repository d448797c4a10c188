"""Writes headwater.yaml and its schema for editors; never writes a file that does not load."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.config.environment import DEFAULT_CONFIG_NAME
from headwater.config.loader import parse_settings
from headwater.config.reference import render_schema
from headwater.config.scaffold.proposal import TableProposal
from headwater.config.scaffold.request import CREATE, ScaffoldRequest, check_request
from headwater.config.source import SourceConfig
from headwater.errors import UsageError

# Hidden: a source folder that contains the configuration must not ingest the schema as data.
SCHEMA_PATH = ".headwater/schema.json"
_COMMENT_WIDTH = 100
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


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The written files; `notes` are sentences on what is left to do.

    `checks` are the sentences on uncertain values, by key: `tables.orders.record_key`.
    """

    config_path: Path
    schema_path: Path
    tables: tuple[str, ...]
    notes: tuple[str, ...]
    checks: Mapping[str, str]


def write_scaffold(
    request: ScaffoldRequest, tables: Sequence[TableProposal] = (), notes: Sequence[str] = ()
) -> Scaffold:
    """Write the files with these tables, or with an example; create the folder.

    `notes` are those of the inspection. Raises `UsageError` for conflicting options, for an existing
    headwater.yaml and for an unwritable folder; `ConfigError` when the result would not load.
    """
    check_request(request)
    folder = request.folder.expanduser().absolute()
    config_path, schema_path = folder / DEFAULT_CONFIG_NAME, folder / SCHEMA_PATH
    text = _render_config(request, folder, tables)
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
    checks = {f"tables.{table.name}.{key}": text for table in tables for key, text in table.checks.items()}
    left = tuple(_list_notes(request, is_example=not tables))
    return Scaffold(config_path, schema_path, tuple(settings.tables), (*notes, *left), checks)


def parse_source(request: ScaffoldRequest, environ: Mapping[str, str]) -> SourceConfig:
    """Return the source of the configuration that would be written, completed by `environ`."""
    folder = request.folder.expanduser().absolute()
    text = _render_config(request, folder, ())
    return parse_settings(text, folder / DEFAULT_CONFIG_NAME, environ, installed=lambda _: True).sources[0]


def _list_notes(request: ScaffoldRequest, *, is_example: bool) -> Iterator[str]:
    if request.needs_resources:
        yield CREATE[request.source]
    if is_example and request.source == "kafka":
        yield "adapt the table to your messages"
    elif is_example:
        yield "adapt the example table to your files"


def _render_config(request: ScaffoldRequest, folder: Path, seen: Sequence[TableProposal]) -> str:
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
        source_path = Path(request.path or folder / "landing").expanduser().absolute()
        path = _quote(_format_path(source_path, folder))
        source = ["  type: local", f"  path: {path}   # the folder to watch"]
    example = TableProposal("landing", "**/*.json", "json")
    if request.topic:
        example = TableProposal(_name_table(request.topic), f"{request.topic}/**", "json")
    tables = [line for table in seen or [example] for line in _render_table(table)]
    head = _HEAD.format(schema=SCHEMA_PATH)
    lake_line = f"lake: {_quote(lake)}   # location of the tables; s3a://bucket/path is allowed, too"
    return "\n".join([head + "source:", *source, lake_line, "tables:", *tables, ""])


def _render_prefix(request: ScaffoldRequest) -> str:
    return f"  prefix: {_quote(request.prefix)}" if request.prefix else "  # prefix: landing/"


def _render_endpoint(request: ScaffoldRequest) -> list[str]:
    return [f"  endpoint: {_quote(request.endpoint)}"] if request.endpoint else []


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
        _render_prefix(request),
        "  # region: eu-central-1           # default: AWS's default chain, as for credentials",
        *(_render_endpoint(request) or ["  # endpoint: http://localhost:9000  # an S3-compatible store"]),
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
        _render_prefix(request),
        *_render_endpoint(request),
    ]


def _render_azure_source(request: ScaffoldRequest) -> list[str]:
    return [
        "  type: azure",
        f"  account: {_quote(request.account or '')}",
        f"  container: {_quote(request.container or '')}",
        _render_prefix(request),
        *_render_endpoint(request),
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
    count = "1 file" if table.files == 1 else f"{table.files:,} files"
    found = count + (f"; read {table.read}" if table.read else "")
    lines = [f"  {table.name}:   # {found if table.files else 'an example: adapt it to your files'}"]
    lines += _render_key(table, "path", _quote(table.path))
    if table.needs_format:
        lines += _render_key(table, "format", table.format)
    if table.options or "options" in table.checks:
        lines += [*_render_check(table, "options"), *(["    options:"] if table.options else [])]
        for name, value in table.options:
            shown = value if value in ("true", "false") else _quote(value)
            lines += [*_render_check(table, f"options.{name}", "      "), f"      {name}: {shown}"]
    if table.partition_columns:
        lines.append(f"    partition_columns: {_format_names(table.partition_columns)}   # from the folders")
        lines.append(f"    # partition: {_format_names(table.partition_columns)}")
    if table.format == "document":
        return [*lines, "    mode: mirror   # one row per section of a document; rows follow their document"]
    return [*lines, *_render_identity(table)]


def _render_identity(table: TableProposal) -> Iterator[str]:
    if not (table.mode or table.record_key):
        yield "    # Each file's rows are appended once. For one row per key, where the newest wins:"
        yield "    # mode: merge"
        yield '    # record_key: "id"'
        yield '    # ordering: "updated_at"'
        return
    if table.mode:
        yield from _render_key(table, "mode", table.mode)
    if table.record_key:
        yield from _render_key(table, "record_key", _format_names(table.record_key))
    if table.ordering:
        yield from _render_key(table, "ordering", _quote(table.ordering))
    elif table.record_key:
        yield from _render_check(table, "ordering")
        yield "    # ordering: a column that grows with each version; without it, the newer file wins"
    yield from (f"    # {line}" for line in table.alternatives)


def _render_key(table: TableProposal, key: str, value: str) -> list[str]:
    return [*_render_check(table, key), f"    {key}: {value}"]


def _render_check(table: TableProposal, key: str, indent: str = "    ") -> list[str]:
    check, fact = table.checks.get(key), table.facts.get(key)
    text = f"check: {check}" if check else fact or ""
    return textwrap.wrap(
        # A name in a file of someone else must not end the comment.
        "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split())),
        width=_COMMENT_WIDTH,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _format_names(names: Sequence[str]) -> str:
    return _quote(names[0]) if len(names) == 1 else f"[{', '.join(map(_quote, names))}]"


def _format_path(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()


def _quote(text: str) -> str:
    # A JSON string is always a YAML string.
    return json.dumps(text, ensure_ascii=False)
