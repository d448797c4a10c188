"""Tables of other programs in `from`: their formats, addresses and keys."""

from pathlib import Path
from typing import Any

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError
from headwater.lake.prerequisites.spark_settings import build_spark_settings
from headwater.medallion.definition import build_definition

HEAD = "source: {type: local, path: source}\nlake: lake\ntables:\n"


def load(folder: Path, given: str) -> Settings:
    return parse_settings(f"{HEAD}  a: {given}\n", folder / "headwater.yaml", {})


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_the_source_is_an_address_with_a_format(tmp_path: Path, kind: str) -> None:
    settings = load(tmp_path, f"{{from: {{{kind}: other/orders/, key: [shop, id]}}}}")
    table = settings.tables["a"]
    address = str(tmp_path / "other/orders")
    assert dict(table.inputs) == {"input": address}
    assert (table.find_format(address), table.outside_tables[address].key) == (kind, ("shop", "id"))
    again = Settings.model_validate(settings.to_effective()).tables["a"]
    assert again.from_ == table.from_
    assert build_definition(again) == build_definition(table)


def test_hudi_remains_the_format_of_all_others(tmp_path: Path) -> None:
    table = load(tmp_path, "{from: {hudi: 's3://x/y/'}}").tables["a"]
    assert table.find_format("s3a://x/y") == "hudi"
    assert table.from_ == "s3a://x/y"


def test_the_definition_changes_with_format_and_key(tmp_path: Path) -> None:
    given = ["{hudi: /x}", "{delta: /x, key: a}", "{iceberg: /x, key: a}", "{iceberg: /x, key: b}"]
    found = {build_definition(load(tmp_path, f"{{from: {one}}}").tables["a"]) for one in given}
    assert len(found) == len(given)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("{from: {delta: /x}}", "a.from.key: missing; `refresh: changes` requires"),
        ("{from: {hudi: /x, key: id}}", "a.from.key: not applicable to a Hudi table"),
        (
            "{from: {delta: /x, iceberg: /y, key: id}}",
            "a.from: requires one of hudi, delta, iceberg; delta and",
        ),
        ("{from: {key: id}}", "a.from: requires one of hudi, delta, iceberg; none of them is set"),
        ("{from: {delta: /x, key: id, as: b}}", "a.from.as: not applicable to a single table"),
        ("{from: {delta: ''}}", "a.from.delta: "),
        ("{from: {parquet: /x}}", "a.from.parquet: unknown key"),
    ],
)
def test_problems_name_the_key(tmp_path: Path, given: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, given)
    assert problem in str(caught.value.message)


def test_groups_need_no_key(tmp_path: Path) -> None:
    load(tmp_path, "{from: {delta: /x}, refresh: full, record_key: shop}")
    load(tmp_path, "{from: {iceberg: /x}, refresh: changed_keys, record_key: shop}")


def list_settings(folder: Path, given: str) -> dict[str, Any]:
    return build_spark_settings(load(folder, given))


def test_only_a_configuration_with_a_format_has_its_reader(tmp_path: Path) -> None:
    without = list_settings(tmp_path, "{from: {hudi: /x}}")
    assert "delta" not in str(without)
    assert "iceberg" not in str(without)
    delta = list_settings(tmp_path, "{from: {delta: /x, key: id}}")
    assert "io.delta:delta-spark_2.12:" in delta["spark.jars.packages"]
    assert delta["spark.sql.extensions"].startswith(f"{without['spark.sql.extensions']},io.delta.")
    assert delta["spark.sql.catalog.spark_catalog"] == without["spark.sql.catalog.spark_catalog"]
    iceberg = list_settings(tmp_path, "{from: {iceberg: /x, key: id}}")
    assert "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:" in iceberg["spark.jars.packages"]
    assert iceberg["spark.sql.extensions"] == without["spark.sql.extensions"]
