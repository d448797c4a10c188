"""`schema` of a table: text or a section, and which formats need which kind of it."""

from pathlib import Path
from typing import Any

import pytest

from headwater.config.loader import parse_settings
from headwater.config.table import TableConfig
from headwater.errors import ConfigError

BASE = "source: {type: local, path: in}\nlake: out\ntables:\n  t:\n"
REGISTRY = "{registry: 'https://r.example.com/', subject: s}"


def load(*lines: str) -> TableConfig:
    text = BASE + "".join(f"    {line}\n" for line in lines)
    found = parse_settings(text, Path("/etc/hw/headwater.yaml"), {}, installed=lambda _: True).tables["t"]
    assert isinstance(found, TableConfig)
    return found


def explain(*lines: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(*lines)
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("id bigint", {"ddl": "id bigint"}),
        ("{ddl: id bigint}", {"ddl": "id bigint"}),
        ("{file: schemas/a.avsc}", {"file": Path("/etc/hw/schemas/a.avsc")}),
        ("{file: /a.binpb, message: x.Y}", {"file": Path("/a.binpb"), "message": "x.Y"}),
        (REGISTRY, {"registry": "https://r.example.com", "subject": "s"}),
        (
            "{registry: 'http://r:8081', subject: s, version: latest}",
            {"registry": "http://r:8081", "subject": "s"},
        ),
        (
            "{registry: 'http://r', subject: s, version: 3, message: x.Y}",
            {"registry": "http://r", "subject": "s", "version": 3, "message": "x.Y"},
        ),
    ],
)
def test_text_is_ddl_and_a_section_names_a_schema(text: str, given: dict[str, Any]) -> None:
    table = load("path: '*.json'", f"schema: {text}")
    assert table.schema_ is not None
    assert table.schema_.model_dump(exclude_none=True) == given
    assert table.effective_schema_evolution_mode == "none"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("{}", "tables.t.schema: the section is empty. Allowed: one of ddl, file, registry"),
        ("{ddl: a int, file: a.avsc}", "schema: ddl and file cannot be combined"),
        ("id bigintt", "did you mean `bigint`?"),
        ("{file: a.json}", "schema.file: a.json has no known ending. Allowed: .avsc, .desc"),
        ("{file: a.proto}", "schema.file: a.proto is source text; compile it: protoc --include_imports"),
        ("{file: a.desc}", "schema.message: missing"),
        ("{file: a.avsc, message: x.Y}", "schema.message: not applicable with `file`"),
        ("{file: a.avsc, subject: s}", "schema.subject: not applicable with `file`"),
        ("{registry: 'http://r'}", "schema.subject: missing"),
        ("{registry: r.example.com, subject: s}", "schema.registry: 'r.example.com' is not an HTTP(S) URL"),
        ("{registry: 'http://u@r', subject: s}", "credentials are not allowed in the URL"),
        ("{registry: 'http://r', subject: s, version: newest}", "schema.version: 'newest' is not allowed"),
        ("{registry: 'http://r', subject: s, version: 0}", "schema.version"),
    ],
)
def test_sections_that_name_no_schema_are_explained(schema: str, text: str) -> None:
    assert text in explain("path: '*.json'", f"schema: {schema}")


@pytest.mark.parametrize("file_format", ["protobuf", "avro_records"])
def test_formats_without_a_schema_of_their_own_require_one(file_format: str) -> None:
    lines = ("path: '*.bin'", f"format: {file_format}")
    for schema in ((), ("schema: id bigint",)):
        assert "tables.t.schema: missing a schema of the records" in explain(*lines, *schema)
    table = load(*lines, f"schema: {REGISTRY}", "options: {framing: single, confluent: true}")
    assert table.effective_format == file_format


@pytest.mark.parametrize(
    ("file_format", "file"), [("protobuf", "a.avsc"), ("avro_records", "a.desc, message: x.Y")]
)
def test_the_kind_of_the_file_fits_the_format(file_format: str, file: str) -> None:
    found = explain("path: '*.bin'", f"format: {file_format}", f"schema: {{file: {file}}}")
    assert f"does not fit `format: {file_format}`. Allowed: " in found


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("options: {framing: lines}", "'lines' is not allowed. Allowed: delimited, length_prefixed, single"),
        ("options: {frameing: single}", "Did you mean 'framing'?"),
        ("options: {Confluent: true}", "true requires `registry` in `schema`"),
        ("schema_evolution_mode: rescue", "'rescue' is not applicable"),
        ("rescued_data_column: _rescued", "rescued_data_column: not applicable"),
    ],
)
def test_options_of_binary_records_are_checked(line: str, text: str) -> None:
    assert text in explain("path: '*.bin'", "format: avro_records", "schema: {file: a.avsc}", line)
