"""Schemas of tables are read before Spark starts: by a run, by `config check` and by `doctor`."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.app.schema_check import check_schemas, iter_schema_findings
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.ingest.formats.binary_records.registry import open_registry
from tests.fixtures.servers.schema_registry import FakeRegistry, run_registry

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with run_registry() as found:
        yield found
    open_registry.cache_clear()


def build_settings(folder: Path, **schemas: Any) -> Settings:
    tables = {name: {"path": "*.json", "schema": schema} for name, schema in schemas.items()}
    return Settings.model_validate(
        {"source": {"type": "local", "path": str(folder)}, "lake": "l", "tables": tables}
    )


def test_usable_schemas_pass(tmp_path: Path, registry: FakeRegistry) -> None:
    registry.register_avro("orders", ORDER)
    (tmp_path / "a.avsc").write_text(json.dumps(ORDER))
    subject = {"registry": registry.url, "subject": "orders"}
    settings = build_settings(tmp_path, a={"file": str(tmp_path / "a.avsc")}, b=subject, c="id bigint")
    check_schemas(settings)
    assert [(found.name, found.status) for found in iter_schema_findings(settings)] == [
        ("tables.a.schema", "ok"),
        ("tables.b.schema", "ok"),
    ]


def test_all_that_cannot_be_used_come_at_once(tmp_path: Path, registry: FakeRegistry) -> None:
    (tmp_path / "a.avsc").write_text("{")
    subject = {"registry": registry.url, "subject": "orders"}
    settings = build_settings(tmp_path, a={"file": str(tmp_path / "a.avsc")}, b=subject)
    with pytest.raises(ConfigError) as caught:
        check_schemas(settings)
    first, second = caught.value.message.splitlines()
    assert first.startswith(f"tables.a.schema: {tmp_path}/a.avsc: not a schema of Avro")
    assert second.startswith("tables.b.schema: version latest of subject 'orders'")
    assert [found.status for found in iter_schema_findings(settings)] == ["problem", "problem"]


def test_a_subject_of_another_kind_than_the_format_is_explained(
    tmp_path: Path, registry: FakeRegistry
) -> None:
    registry.register_avro("orders", ORDER)
    table = {"path": "*", "format": "protobuf", "schema": {"registry": registry.url, "subject": "orders"}}
    settings = Settings.model_validate(
        {"source": {"type": "local", "path": str(tmp_path)}, "lake": "l", "tables": {"t": table}}
    )
    with pytest.raises(ConfigError, match="has type avro; `format: protobuf` requires protobuf"):
        check_schemas(settings)


def test_a_registry_that_does_not_answer_is_a_warning_of_a_run_and_a_problem_of_doctor(
    tmp_path: Path, registry: FakeRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.failures = 1_000
    settings = build_settings(tmp_path, t={"registry": registry.url, "subject": "orders"})
    with caplog.at_level(logging.WARNING):
        check_schemas(settings)
    assert (
        f"table t: schema not checked: schema registry {registry.url} answers with status 503" in caplog.text
    )
    (found,) = iter_schema_findings(settings)
    assert (found.status, bool(found.fix)) == ("problem", True)
