"""What `headwater init` writes for its options and for proposed tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from headwater.config.loader import load_settings
from headwater.config.scaffold import ScaffoldRequest, TableProposal, resolve_address, write_scaffold
from headwater.errors import ConfigError, UsageError

ORDERS = TableProposal(
    "orders",
    "orders/**/*.{csv,csv.gz}",
    "csv",
    files=12,
    read="1,200 rows of 3 of 12 files",
    options=(("header", "true"), ("sep", "\\t"), ("escape", "\\")),
    record_key=("order id", "line"),
    ordering="updated_at",
    partition_columns=("day",),
    facts={"record_key": "no value twice"},
    checks={"options.sep": "a tab.\nAlternative: `;`\x07 " + "long " * 40, "ordering": "why: # that"},
)
CLICKS = TableProposal(
    "clicks", "clicks/*.json", "json", files=1, mode="append", alternatives=("record_key: id",)
)


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    (tmp_path / "landing").mkdir()
    return tmp_path / "landing"


def test_proposal_becomes_a_table_whose_values_are_read_back(tmp_path: Path) -> None:
    scaffold = write_scaffold(ScaffoldRequest(tmp_path), [ORDERS, CLICKS], ["3 files in no table"])
    tables = load_settings(scaffold.config_path, environ={}).tables
    orders = tables["orders"]
    assert orders.path == (ORDERS.path,)
    assert orders.options == dict(ORDERS.options)
    assert (orders.record_key, orders.ordering) == (("order id", "line"), ("updated_at",))
    assert orders.partition_columns == ("day",)
    assert orders.effective_mode == "merge"
    assert tables["clicks"].effective_mode == "append"
    assert scaffold.notes == ("3 files in no table",)
    assert scaffold.checks["tables.orders.ordering"] == "why: # that"


def test_each_check_precedes_its_key_in_lines_of_at_most_100_characters(tmp_path: Path) -> None:
    text = write_scaffold(ScaffoldRequest(tmp_path), [ORDERS]).config_path.read_text()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[lines.index('    ordering: "updated_at"') - 1] == "    # check: why: # that"
    assert lines[lines.index('      sep: "\\\\t"') - 1].startswith("      #   ")
    assert "    # no value twice" in lines
    assert "12 files; read 1,200 rows of 3 of 12 files" in text


def test_written_file_loads(tmp_path: Path, landing: Path) -> None:
    request = ScaffoldRequest(tmp_path / "conf", path=landing, lake=str(tmp_path / "lake"))
    scaffold = write_scaffold(request)
    settings = load_settings(scaffold.config_path, environ={})
    assert settings.sources[0].type == "local"
    assert settings.sources[0].path == landing
    assert settings.lake == str(tmp_path / "lake")


def test_one_table_takes_at_most_15_lines_and_the_schema_file_exists(tmp_path: Path) -> None:
    config_path = write_scaffold(ScaffoldRequest(tmp_path)).config_path
    lines = config_path.read_text().splitlines()
    assert len([line for line in lines if line.strip() and not line.strip().startswith("#")]) <= 15
    marker = "# yaml-language-server: $schema="
    assert lines[0].startswith(marker)
    assert (config_path.parent / lines[0].removeprefix(marker)).is_file()


def test_commented_merge_hint_loads_when_uncommented(tmp_path: Path, landing: Path) -> None:
    config_path = write_scaffold(ScaffoldRequest(tmp_path, path=landing)).config_path
    hints = ("    # mode: merge", "    # record_key", "    # ordering")
    lines = [
        line.replace("# ", "", 1) if line.startswith(hints) else line
        for line in config_path.read_text().splitlines()
    ]
    config_path.write_text("\n".join(lines))
    tables = load_settings(config_path, environ={}).tables
    assert {table.effective_mode for table in tables.values()} == {"merge"}


def test_paths_inside_the_folder_are_written_relative(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    scaffold = write_scaffold(ScaffoldRequest(tmp_path))
    text = scaffold.config_path.read_text()
    assert 'path: "landing"' in text
    assert 'lake: "lake"' in text
    assert "adapt the example" in scaffold.notes[0]


def test_gcs_source_loads(tmp_path: Path) -> None:
    request = ScaffoldRequest(tmp_path, source="gcs", bucket="acme", subscription="acme-landing")
    source = load_settings(write_scaffold(request).config_path, environ={}).sources[0]
    assert source.type == "gcs"
    assert (source.bucket, source.subscription) == ("acme", "acme-landing")


def test_gcs_source_without_a_subscription_loads_and_asks_for_it(tmp_path: Path) -> None:
    scaffold = write_scaffold(ScaffoldRequest(tmp_path, source="gcs", bucket="acme"))
    source = load_settings(scaffold.config_path, environ={}).sources[0]
    assert source.type == "gcs"
    assert source.subscription is None
    assert "headwater up" in scaffold.notes[0]
    assert "source.subscription" in scaffold.notes[0]


def test_azure_source_loads(tmp_path: Path) -> None:
    request = ScaffoldRequest(tmp_path, source="azure", account="acme", container="landing", queue="events")
    source = load_settings(write_scaffold(request).config_path, environ={}).sources[0]
    assert source.type == "azure"
    assert (source.account, source.container, source.queue.name) == ("acme", "landing", "events")


@pytest.mark.parametrize(("topic", "table"), [("shop.orders-v2", "shop_orders_v2"), ("2026", "t_2026")])
def test_kafka_source_loads_with_a_table_for_the_topic(tmp_path: Path, topic: str, table: str) -> None:
    request = ScaffoldRequest(tmp_path, source="kafka", bootstrap="one:9092", topic=topic)
    scaffold = write_scaffold(request)
    settings = load_settings(scaffold.config_path, environ={})
    (source,) = settings.sources
    assert source.type == "kafka"
    assert source.topics == (topic,)
    assert settings.tables[table].path == (f"{topic}/**",)
    assert scaffold.notes == ("adapt the table to your messages",)


def test_s3_source_loads_and_asks_for_the_queue(tmp_path: Path) -> None:
    scaffold = write_scaffold(ScaffoldRequest(tmp_path, source="s3", bucket="acme", lake="s3a://acme/lake"))
    settings = load_settings(scaffold.config_path, environ={})
    assert settings.sources[0].type == "s3"
    assert settings.sources[0].bucket == "acme"
    assert settings.lake == "s3a://acme/lake"
    assert "source.queue.url" in scaffold.notes[0]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("s3://acme/landing/orders", ("s3", "acme", "landing/orders/")),
        ("s3a://acme", ("s3", "acme", "")),
        ("gs://acme/in/", ("gcs", "acme", "in/")),
        ("az://landing/in", ("azure", "landing", "in/")),
        ("abfss://landing@acmelake.dfs.core.windows.net/in", ("azure", "landing", "in/")),
    ],
)
def test_address_names_bucket_and_prefix(
    tmp_path: Path, address: str, expected: tuple[str, str, str]
) -> None:
    given = ScaffoldRequest(tmp_path, path=address, queue="events", account="acmelake")
    request = resolve_address(given)
    if request.source != "azure":
        request = replace(request, queue=None, account=None)
    source = load_settings(write_scaffold(request).config_path, environ={}).sources[0]
    assert (source.type, source.location, source.prefix) == expected


def test_address_that_fits_no_source_or_other_options_is_rejected(tmp_path: Path) -> None:
    for request in (
        ScaffoldRequest(tmp_path, path="ftp://acme/landing"),
        ScaffoldRequest(tmp_path, path="s3://"),
        ScaffoldRequest(tmp_path, source="gcs", path="s3://acme"),
        ScaffoldRequest(tmp_path, path="s3://acme", bucket="other"),
    ):
        with pytest.raises(UsageError) as caught:
            resolve_address(request)
        assert caught.value.hint


def test_endpoint_of_a_compatible_store_is_written(tmp_path: Path) -> None:
    request = ScaffoldRequest(tmp_path, source="s3", bucket="acme", endpoint="http://localhost:9000")
    source = load_settings(write_scaffold(request).config_path, environ={}).sources[0]
    assert source.type == "s3"
    assert source.endpoint == "http://localhost:9000"


def test_existing_file_is_overwritten_only_by_force(tmp_path: Path) -> None:
    config_path = tmp_path / "headwater.yaml"
    config_path.write_text("mine")
    with pytest.raises(UsageError) as caught:
        write_scaffold(ScaffoldRequest(tmp_path))
    assert "--force" in caught.value.hint
    assert config_path.read_text() == "mine"
    scaffold = write_scaffold(ScaffoldRequest(tmp_path, force=True))
    assert tuple(load_settings(config_path, environ={}).tables) == scaffold.tables


def test_incompatible_options_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for request in (
        ScaffoldRequest(tmp_path, source="s3"),
        ScaffoldRequest(tmp_path, source="s3", bucket="b", path=tmp_path),
        ScaffoldRequest(tmp_path, bucket="b"),
        ScaffoldRequest(tmp_path, source="gcs", subscription="s"),
        ScaffoldRequest(tmp_path, source="s3", bucket="b", subscription="s"),
        ScaffoldRequest(tmp_path, source="azure", container="c", queue="events"),
        ScaffoldRequest(tmp_path, source="gcs", bucket="b", subscription="s", account="acme"),
        ScaffoldRequest(tmp_path, source="kafka", topic="orders"),
        ScaffoldRequest(tmp_path, source="s3", bucket="b", topic="orders"),
        ScaffoldRequest(tmp_path, path=file),
        ScaffoldRequest(file),
    ):
        with pytest.raises(UsageError) as caught:
            write_scaffold(request)
        assert caught.value.hint


def test_invalid_configuration_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is inside the source folder"):
        write_scaffold(ScaffoldRequest(tmp_path, path=tmp_path))
    assert not (tmp_path / "headwater.yaml").exists()
