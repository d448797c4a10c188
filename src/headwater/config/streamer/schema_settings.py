"""Converts HoodieStreamer's schema providers to `schema` of a table."""

import re
from pathlib import PurePosixPath
from urllib.parse import unquote

from headwater.config.problems.problem import KeyPath
from headwater.config.streamer.settings_left import SettingsLeft
from headwater.config.table.schema_source import AVRO_SUFFIX

_FLAG = "schemaprovider-class"
_VERSION = re.compile(r"(?P<url>https?://.+)/subjects/(?P<subject>[^/]+)/versions/(?P<version>latest|\d+)/?")
_COMPILE = (
    "compile the messages, and write `schema: {file: NAME.desc, message: TYPE}`: protoc --include_imports "
    "--descriptor_set_out=NAME.desc FILE.proto"
)


def convert_schema(left: SettingsLeft, table: KeyPath) -> None:
    """Convert the schema provider of a job. Without one, the columns are inferred there, too."""
    given = left.take_flag(_FLAG) or ""
    name = given.rsplit(".", 1)[-1]
    if name == "FilebasedSchemaProvider":
        _convert_file(left, table, given)
    elif name == "SchemaRegistryProvider":
        _convert_registry(left, table, given)
    elif name == "ProtoClassBasedSchemaProvider":
        left.leave_out(f"--{_FLAG}", given, _COMPILE)
    elif given:
        left.leave_out(f"--{_FLAG}", given, "see `schema`: DDL, a file, or a subject of a registry")


def _convert_file(left: SettingsLeft, table: KeyPath, given: str) -> None:
    found = left.take("schemaprovider.source.schema.file")
    if found is None:
        left.leave_out(f"--{_FLAG}", given, "it names no `schemaprovider.source.schema.file`")
        return
    path = found[1].removeprefix("file://").removeprefix("file:")
    if "://" in path or PurePosixPath(path).suffix.lower() != AVRO_SUFFIX:
        left.leave_out(*found, f"copy it to this machine, and write `schema: {{file: NAME{AVRO_SUFFIX}}}`")
    else:
        left.put((*table, "schema", "file"), path, *found)


def _convert_registry(left: SettingsLeft, table: KeyPath, given: str) -> None:
    found = left.take("schemaprovider.registry.url")
    if found is None:
        left.leave_out(f"--{_FLAG}", given, "it names no `schemaprovider.registry.url` without a secret")
        return
    version = _VERSION.fullmatch(found[1])
    if version is None:
        left.leave_out(*found, "not the address of a version of a subject; write `registry` and `subject`")
        return
    left.put((*table, "schema", "registry"), version["url"], *found)
    left.put((*table, "schema", "subject"), unquote(version["subject"]), *found)
    if version["version"] != "latest":
        left.put((*table, "schema", "version"), int(version["version"]), *found)
