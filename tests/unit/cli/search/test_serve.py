"""What `headwater serve` says when it cannot: each with the exit code and what to do."""

import json
import socket
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from headwater.config.search.keys import API_KEYS_VARIABLE
from tests.fixtures.search.served_lake import ServedLake


@pytest.fixture
def lake(tmp_path: Path) -> ServedLake:
    found = ServedLake(tmp_path)
    found.configure()
    return found


def serve(lake: ServedLake, *words: str) -> Result:
    return CliRunner().invoke(app, ["-c", str(lake.config), "serve", "--port", "0", *words])


def expect(result: Result, exit_code: int, *words: str) -> None:
    assert result.exit_code == exit_code, result.output
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output


def test_no_search_section(lake):
    settings = json.loads(lake.config.read_text())
    del settings["search"]
    lake.config.write_text(json.dumps(settings))
    expect(serve(lake), 2, "search: missing", "add `search:")


def test_no_index_yet(lake):
    expect(serve(lake), 2, "hint:", "headwater")


def test_the_port_is_taken(lake):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["-c", str(lake.config), "serve", "--port", str(port)])
    expect(result, 1, f"cannot listen on 127.0.0.1:{port}", "--port")


def test_an_address_that_is_not_ours(lake):
    expect(serve(lake, "--host", "203.0.113.7"), 1, "cannot listen on 203.0.113.7")


def test_the_model_is_missing(lake):
    lake.configure(embedder={"type": "wordllama", "model": "none"})
    expect(serve(lake), 1, "hint:")


def test_the_extra_of_the_model_is_missing(lake, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    lake.configure(embedder={"type": "sentence_transformers", "model": "none"})
    expect(serve(lake), 2, "search.embedder.type", "pip install 'headwater[sentence-transformers]'")


def test_the_index_is_for_another_model(lake):
    lake.fill()
    lake.configure(embedder={"type": "hashing", "dimensions": 128})
    expect(serve(lake), 1, "headwater index build")


def test_another_process_has_the_index(lake):
    lake.fill()
    held = lake.open_index()
    assert held.versions.open_live()
    try:
        expect(serve(lake), 1, "version v0001 of the index", "is in use by process", "hint:")
    finally:
        held.close()


def test_a_store_for_one_process_takes_one_worker(lake):
    expect(serve(lake, "--workers", "2"), 2, "--workers 2", "type: qdrant", "type: pgvector")


def test_keys_that_are_none(lake, monkeypatch):
    monkeypatch.setenv(API_KEYS_VARIABLE, "shop:not-a-hash")
    expect(serve(lake), 2, API_KEYS_VARIABLE, "sha256")


def test_tenants_without_keys(lake):
    lake.configure(tenant="seller")
    expect(serve(lake), 2, "each key must name a tenant")


def test_a_language_model_without_its_address(lake):
    lake.configure(language_model={"model": "m"})
    expect(serve(lake), 2, "search.language_model.endpoint")
