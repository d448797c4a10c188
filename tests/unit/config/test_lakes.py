"""A file with several lakes: one is chosen, as if the file had no other."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.cli import main as cli
from headwater.config.json_schema import build_json_schema
from headwater.config.loader import load_settings, parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

TEXT = """\
spark: {driver_memory: 3g, config: {spark.a: 1}}
source: {type: s3, bucket: acme, region: eu-west-1}
reconcile: {settle_seconds: 7}
lakes:
  orders:
    source: {prefix: orders/}
    lake: s3a://lake/orders
    spark: {config: {spark.b: 2}}
    tables: {orders: {path: "orders/*.json"}}
  folder:
    source: {type: local, path: landing}
    lake: folder-lake
    tables: {clicks: {path: "*.json"}}
"""
PATH = Path("headwater.yaml")


def load(name: str, text: str = TEXT, environ: dict[str, str] | None = None, **overrides: str) -> Settings:
    return parse_settings(text, PATH, environ or {}, overrides, lake_name=name)


def problems(name: str, text: str = TEXT) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(name, text)
    return caught.value.message.splitlines()


def test_keys_of_the_lake_are_merged_into_the_shared_ones() -> None:
    orders = load("orders")
    assert orders.sources[0].type == "s3"
    assert (orders.sources[0].bucket, orders.sources[0].prefix, orders.sources[0].region) == (
        "acme",
        "orders/",
        "eu-west-1",
    )
    assert orders.spark.config == {"spark.a": "1", "spark.b": "2"}
    assert (orders.lake, list(orders.tables)) == ("s3a://lake/orders", ["orders"])
    assert (orders.spark.driver_memory, orders.reconcile.settle_seconds) == ("3g", 7)


def test_a_source_of_another_type_has_nothing_of_the_shared_one() -> None:
    folder = load("folder")
    assert folder.sources[0].type == "local"
    assert folder.reconcile.settle_seconds == 7
    assert folder.lake.endswith("/folder-lake")


def test_overrides_are_of_the_chosen_lake() -> None:
    environ = {"HEADWATER__SOURCE__PREFIX": "in/"}
    settings = load("orders", environ=environ, lake="s3a://elsewhere")
    assert settings.sources[0].type == "s3"
    assert (settings.sources[0].prefix, settings.lake) == ("in/", "s3a://elsewhere")


def test_the_only_lake_needs_no_name() -> None:
    text = "lakes: {one: {source: {type: local, path: in}, lake: out, tables: {t: {path: '*.json'}}}}"
    assert list(load("", text).tables) == ["t"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "",
            TEXT,
            "4: lakes: has several lakes: choose one with --lake-name, before the command. Allowed: orders, ",
        ),
        ("order", TEXT, "4: lakes: unknown lake 'order'. Allowed: orders, folder"),
        ("a", "source: {type: local, path: in}\nlake: out\ntables: {t: {path: '*.json'}}", "has no `lakes`"),
        ("", "lakes: [a]", "1: lakes: must be a mapping of names to configurations"),
        ("a", "lakes: {a: text}", "1: lakes.a: must be a mapping, as a file with one lake is"),
        ("a", "lakes:\n  a:\n    lakes: {}", "3: lakes.a.lakes: a lake has no lakes in it"),
    ],
)
def test_an_unclear_choice_is_the_only_problem(name: str, text: str, said: str) -> None:
    (line,) = problems(name, text)
    assert said in line


def test_problems_have_the_line_and_the_key_of_their_place() -> None:
    text = TEXT.replace("prefix: orders/", "prefx: orders/").replace(
        "driver_memory: 3g", "driver_memory: much"
    )
    found = problems("orders", text)
    assert [line.split(": ")[:2] for line in found] == [
        ["headwater.yaml:1", "spark.driver_memory"],
        ["headwater.yaml:6", "lakes.orders.source.prefx"],
    ]
    assert [line.split(": ")[0] for line in problems("folder", text)] == ["headwater.yaml:1"]


def test_secrets_of_every_lake_are_refused() -> None:
    text = TEXT.replace("lake: folder-lake", "lake: folder-lake\n    aws_secret_access_key: abc")
    (line,) = problems("orders", text)
    assert line.startswith("headwater.yaml:13: lakes.folder.aws_secret_access_key: secrets are not allowed")


@pytest.mark.parametrize("shared", ["", "lake: s3a://lake/orders\n"])
def test_two_lakes_at_one_location_are_refused(shared: str) -> None:
    text = shared + TEXT.replace("folder-lake", "s3a://lake/orders")
    if shared:
        text = text.replace("    lake: s3a://lake/orders\n", "")
    (line,) = problems("orders", text)
    assert "is also the location of the lake 'folder'" in line


def test_the_variable_names_a_lake_and_the_option_takes_precedence(tmp_path: Path) -> None:
    file = tmp_path / "headwater.yaml"
    file.write_text(TEXT)
    assert list(load_settings(file, {"HEADWATER_LAKE_NAME": "folder"}).tables) == ["clicks"]
    assert list(load_settings(file, {"HEADWATER_LAKE_NAME": "folder"}, lake_name="orders").tables) == [
        "orders"
    ]


def test_check_is_of_all_lakes_unless_one_is_chosen(tmp_path: Path) -> None:
    file = tmp_path / "headwater.yaml"
    file.write_text(TEXT)
    app = cli.build_app()
    done = CliRunner().invoke(app, ["--config", str(file), "config", "check"])
    assert [f"{file}, lake {name} is valid" in done.output for name in ("orders", "folder")] == [True, True]
    done = CliRunner().invoke(app, ["--config", str(file), "--lake-name", "folder", "config", "check"])
    assert "orders" not in done.output
    assert "clicks" in done.output


def test_the_schema_has_the_same_keys_for_a_lake() -> None:
    schema: Any = build_json_schema()
    keys = dict(schema["properties"])
    lakes = keys.pop("lakes")
    assert lakes["additionalProperties"]["properties"] == keys
    assert schema["else"] == {"required": ["source", "lake", "tables"]}
