"""Declared columns follow the latest version of a subject, and outlast an outage of the registry."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.config.table.schema_source import SchemaConfig
from headwater.errors import RegistryUnavailableError
from headwater.ingest.columns.declared import DeclaredColumns
from headwater.ingest.formats.binary_records.registry import open_registry
from tests.fixtures.servers.schema_registry import FakeRegistry, run_registry


def build_order(*names: str) -> object:
    return {"type": "record", "name": "Order", "fields": [{"name": name, "type": "long"} for name in names]}


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with run_registry() as found:
        yield found
    open_registry.cache_clear()


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def declare(registry: FakeRegistry, time: Time, **schema: object) -> DeclaredColumns:
    config = SchemaConfig.model_validate({"registry": registry.url, "subject": "s", **schema})
    return DeclaredColumns("t", config, {}, time)


def test_a_new_version_is_found_after_a_minute(registry: FakeRegistry) -> None:
    time = Time()
    registry.register_avro("s", build_order("id"))
    latest, first = declare(registry, time), declare(registry, time, version=1)
    known, fixed = latest.read(), first.read()
    registry.register_avro("s", build_order("id", "more"))
    time.now = 59
    assert latest.read() is known
    time.now = 61
    assert latest.read().schema.fieldNames() == ["id", "more"]
    assert latest.read() is latest.read()
    assert first.read() is fixed
    time.now = 200
    newest = latest.read()
    assert newest is latest.read()
    assert newest.schema.fieldNames() == ["id", "more"]


def test_a_changed_file_is_read_again_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    time, file = Time(), tmp_path / "a.avsc"
    file.write_text(json.dumps(build_order("id")))
    columns = DeclaredColumns("t", SchemaConfig.model_validate({"file": str(file)}), {}, time)
    known = columns.read()
    file.write_text("{")
    time.now = 61
    assert columns.read() is known
    file.write_text(json.dumps(build_order("id", "more")))
    time.now = 122
    assert columns.read().schema.fieldNames() == ["id", "more"]


def test_an_outage_keeps_known_columns_and_no_others(registry: FakeRegistry) -> None:
    time = Time()
    registry.register_avro("s", build_order("id"))
    columns = declare(registry, time)
    registry.failures = 100
    with pytest.raises(RegistryUnavailableError):
        columns.read()
    registry.failures = 0
    known = columns.read()
    registry.failures, time.now = 100, 100
    assert columns.read() is known
    asked = len(registry.requests)
    assert columns.read() is known
    assert len(registry.requests) == asked


def test_changed_text_with_the_same_columns_is_a_change(registry: FakeRegistry) -> None:
    time = Time()
    registry.register_avro("s", build_order("id"))
    columns = declare(registry, time)
    known = columns.read()
    time.now = 61
    assert columns.read() is known
    registry.register_avro("s", {"type": "record", "name": "Order", "aliases": ["Old"], "fields": [
        {"name": "id", "type": "long"}]})  # fmt: skip
    time.now = 122
    assert columns.read() is not known
