"""Which section of a configuration needs which extra, and what is said when it is not installed."""

import re
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from headwater.config.extras.needs import find_missing_extras, iter_needs
from headwater.config.extras.packages import (
    MODULES,
    ensure_extra,
    format_install_command,
    importing_extra,
    is_installed,
)
from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError, MissingExtraError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
NOT_IN_ALL = {"fastembed", "sentence-transformers"}

BASE = """\
source: {type: local, path: in}
lake: out
tables:
  pages:
    path: "*.json"
"""
SEARCH = BASE + "search:\n  table: pages\n  text: [title]\n"


def build_settings(text: str) -> Settings:
    """The settings, whether or not the extras that they need are installed here."""
    return parse_settings(text, Path("headwater.yaml"), {}, installed=lambda _: True)


def normalize(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def test_core_has_at_most_23_packages() -> None:
    assert len(PROJECT["dependencies"]) <= 23


def test_every_extra_of_the_project_is_known_with_as_many_modules_as_packages() -> None:
    assert set(EXTRAS) == {*MODULES, "all"}
    assert {name: len(modules) for name, modules in MODULES.items()} == {
        name: len(packages) for name, packages in EXTRAS.items() if name != "all"
    }


@pytest.mark.parametrize("extra", sorted(MODULES))
def test_modules_of_an_extra_are_those_of_its_packages(extra: str) -> None:
    distributions = packages_distributions()
    wanted = {normalize(package) for package in EXTRAS[extra]}
    for module in MODULES[extra]:
        if is_installed(extra):
            spec = find_spec(module)
            assert spec is not None
            # A namespace, such as `google`, belongs to several packages.
            assert wanted & {normalize(name) for name in distributions[module.partition(".")[0]]}


def test_all_holds_every_extra_that_fetches_no_model() -> None:
    (requirement,) = EXTRAS["all"]
    assert requirement == f"headwater[{','.join(name for name in MODULES if name not in NOT_IN_ALL)}]"


def test_plain_configuration_needs_no_extra() -> None:
    assert list(iter_needs(build_settings(BASE))) == []


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        (BASE.replace("*.json", "*.pdf"), [("tables.pages.path", "documents")]),
        (BASE + "    format: document\n", [("tables.pages.format", "documents")]),
        (BASE.replace("*.json", "*.xlsx"), [("tables.pages.path", "excel")]),
        (
            BASE + "    format: protobuf\n    schema: {file: a.desc, message: A}\n",
            [("tables.pages.format", "protobuf")],
        ),
        (BASE + "    schema: {file: a.desc, message: A}\n", [("tables.pages.schema.file", "protobuf")]),
        (BASE + "    schema: {file: a.avsc}\n", []),
        (BASE.replace("*.json", "*.json.7z"), [("tables.pages.path", "7z")]),
        (BASE.replace("*.json", "*.7z") + "    format: binary\n", []),
        (BASE + "lineage: {file: ../lineage.jsonl}\n", [("lineage", "lineage")]),
        (SEARCH, [("search", "search")]),
        (
            SEARCH + "  store: {type: pgvector, url: 'postgresql://localhost/shop'}\n",
            [("search", "search"), ("search.store.type", "pgvector")],
        ),
        (
            SEARCH + "  embedder: {type: fastembed}\n  retrieval: {rerank: {}}\n",
            [
                ("search", "search"),
                ("search.embedder.type", "fastembed"),
                ("search.retrieval.rerank", "sentence-transformers"),
            ],
        ),
        (
            SEARCH + "  embedder: {type: sentence_transformers}\n",
            [("search", "search"), ("search.embedder.type", "sentence-transformers")],
        ),
        (BASE + "catalogs: [{type: glue, database: shop, region: eu-west-1}]\n", []),
        (
            BASE + "catalogs: [{type: hive, database: shop, address: 'thrift://hms:9083'}]\n",
            [("catalogs.0.type", "hive")],
        ),
        (
            BASE + "catalogs: [{type: hive, database: shop, address: 'jdbc:hive2://hs2:10000'}]\n",
            [("catalogs.0.address", "hiveserver2")],
        ),
        (
            BASE + "catalogs: [{type: datahub, database: shop, address: 'http://datahub:8080'}]\n",
            [("catalogs.0.type", "datahub")],
        ),
    ],
)
def test_sections_need_extras(text: str, needs: list[tuple[str, str]]) -> None:
    found = list(iter_needs(build_settings(text)))
    assert [(".".join(str(part) for part in need.path), need.extra) for need in found] == needs


def test_only_needs_that_are_not_installed_are_missing() -> None:
    settings = build_settings(SEARCH + "lineage: {file: ../lineage.jsonl}\n")
    missing = find_missing_extras(settings, installed=lambda extra: extra == "search")
    assert [need.extra for need in missing] == ["lineage"]


def test_all_missing_extras_come_at_once_with_their_lines_and_one_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hide(monkeypatch, "openlineage.client", "qdrant_client")
    with pytest.raises(MissingExtraError) as caught:
        parse_settings(SEARCH + "lineage: {file: ../lineage.jsonl}\n", Path("headwater.yaml"), {})
    assert caught.value.message.splitlines() == [
        "headwater.yaml:6: search: requires the extra 'search', which is not installed",
        "headwater.yaml:9: lineage: requires the extra 'lineage', which is not installed",
    ]
    assert caught.value.hint == "pip install 'headwater[search,lineage]'"
    assert caught.value.exit_code == 2


def test_value_that_needs_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pymetastore")
    text = BASE + "catalogs:\n- type: hive\n  database: shop\n  address: thrift://hms:9083\n"
    with pytest.raises(MissingExtraError) as caught:
        parse_settings(text, Path("headwater.yaml"), {})
    assert caught.value.message == (
        "headwater.yaml:7: catalogs[0].type: 'type: hive' requires the extra 'hive', which is not installed"
    )


def test_other_problems_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "qdrant_client")
    with pytest.raises(ConfigError, match="lakee") as caught:
        parse_settings(SEARCH + "lakee: x\n", Path("headwater.yaml"), {})
    assert not isinstance(caught.value, MissingExtraError)


def test_error_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_extra("search", "`headwater serve`")
    hide(monkeypatch, "fastapi", "wordllama")
    with pytest.raises(MissingExtraError) as caught:
        ensure_extra("search", "`headwater serve`")
    assert (
        caught.value.message
        == "`headwater serve` requires the extra 'search'; not installed: fastapi, wordllama"
    )
    assert caught.value.hint == "pip install 'headwater[search]'"


def test_import_that_fails_is_explained() -> None:
    with (
        pytest.raises(MissingExtraError, match="no_such_module") as caught,
        importing_extra("plot", "--plot"),
    ):
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401
    assert caught.value.hint == "pip install 'headwater[plot]'"


def test_install_command_has_the_order_of_the_extras() -> None:
    assert format_install_command({"plot", "search"}) == "pip install 'headwater[search,plot]'"


def test_module_below_a_missing_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "google")
    monkeypatch.delitem(sys.modules, "google.cloud.bigquery", raising=False)
    monkeypatch.delitem(sys.modules, "google.cloud", raising=False)
    assert not is_installed("bigquery")


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
