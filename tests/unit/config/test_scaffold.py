"""What `headwater init` proposes for the files it sees."""

import gzip
from pathlib import Path

import pytest

from headwater.config.loader import load_settings
from headwater.config.scaffold import ScaffoldRequest, write_scaffold
from headwater.config.scaffold.survey import survey_folder
from headwater.errors import ConfigError, UsageError


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    folder = tmp_path / "landing"
    (folder / "orders" / "2024").mkdir(parents=True)
    (folder / "orders" / "2024" / "a.json").write_text('{"order_id": 1, "updated_at": "x"}\n')
    (folder / "orders" / "b.json.gz").write_bytes(gzip.compress(b'{"order_id": 2}\n'))
    (folder / "9 lives [x]").mkdir()
    (folder / "9 lives [x]" / "a.csv").write_text("id,name\n1,a\n")
    (folder / "_SUCCESS").touch()
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "a.json").touch()
    (folder / "readme.md").touch()
    return folder


def test_one_table_is_proposed_for_each_folder_and_format(landing: Path) -> None:
    found = {table.name: table for table in survey_folder(landing)}
    assert set(found) == {"orders", "t_9_lives_x"}
    assert found["orders"].path == "orders/**/*.{json,json.gz}"
    assert found["orders"].files == 2
    assert (found["orders"].record_key, found["orders"].ordering) == ("order_id", "updated_at")
    assert dict(found["t_9_lives_x"].options) == {"header": "true"}


def test_notes_among_data_are_no_table_but_a_folder_of_manuals_is(tmp_path: Path) -> None:
    for name in ("data/a.json", "data/readme.md", "manuals/a.pdf", "manuals/deep/b.html", "LICENSE.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    found = {table.path: table.format for table in survey_folder(tmp_path)}
    assert found == {"data/**/*.json": "json", "manuals/**/*.{html,pdf}": "document"}


def test_two_formats_of_one_folder_are_two_tables(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "a.json").write_text("[{}]")
    (tmp_path / "events" / "a.parquet").touch()
    found = {table.name: table.format for table in survey_folder(tmp_path)}
    assert found == {"events_data_json_array": "json_array", "events_data_parquet": "parquet"}


def test_headerless_and_unreadable_files_are_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "b.json.gz").write_bytes(b"not gzip")
    (tmp_path / "c.tsv").write_text("")
    assert all(table.columns == () for table in survey_folder(tmp_path))


def test_written_file_loads_and_is_short(tmp_path: Path, landing: Path) -> None:
    request = ScaffoldRequest(tmp_path / "conf", path=landing, lake=str(tmp_path / "lake"))
    scaffold = write_scaffold(request)
    settings = load_settings(scaffold.config_path, environ={})
    assert settings.sources[0].type == "local"
    assert settings.sources[0].path == landing
    assert settings.lake == str(tmp_path / "lake")
    assert tuple(settings.tables) == scaffold.tables == ("t_9_lives_x", "orders")


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
    assert "no data files" in scaffold.notes[0]


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
