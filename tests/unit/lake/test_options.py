"""What a write tells Hudi. Tables that exist were made with these: today's options stay, byte for byte."""

from pathlib import Path

from headwater.config.hudi.known_options import load_known_options
from headwater.config.hudi.table_option import OptionValue
from headwater.config.table.typed_options import HUDI_OPTIONS
from headwater.lake.options import WriteOptions
from headwater.lake.typed_options.reference import PAGE, render_page
from headwater.lake.typed_options.rendering import render_options

ALWAYS = {
    "hoodie.clean.trigger.max.commits": "10",
    "hoodie.write.empty.clean.interval.hours": "1",
    "hoodie.datasource.meta.sync.enable": "false",
    "hoodie.datasource.write.commitmeta.key.prefix": "headwater.",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.embed.timeline.server": "false",
    "hoodie.metadata.enable": "false",
    "hoodie.parquet.compression.codec": "zstd",
    "hoodie.index.bloom.num_entries": "1000",
    "hoodie.table.name": "t",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.write.markers.type": "DIRECT",
}


def test_options_of_a_merge():
    options = WriteOptions("t", "upsert", ("id",), partition=("day", "hour"), ordering=("ts",))
    assert options.to_hoodie() == ALWAYS | {
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.partitionpath.field": "day,hour",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.table.ordering.fields": "ts",
    }


def test_options_of_a_mirror():
    options = WriteOptions(
        "t", "upsert", ("o", "r"), table_type="merge_on_read", commit_metadata={"checkpoint": "c"}
    )
    assert options.to_hoodie() == ALWAYS | {
        "headwater.checkpoint": "c",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.recordkey.field": "o,r",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    }


def test_options_of_an_append_with_unique_keys_and_options_by_hand():
    options = WriteOptions(
        "t", "insert", ("e",), unique_keys=True, extra={"hoodie.parquet.compression.codec": "gzip"}
    )
    assert options.to_hoodie() == ALWAYS | {
        "hoodie.combine.before.upsert": "false",
        "hoodie.datasource.write.operation": "insert",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.recordkey.field": "e",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.parquet.compression.codec": "gzip",
    }


def test_every_declared_key_is_one_of_the_bundle():
    known = load_known_options().by_key
    keys = {
        key
        for option in HUDI_OPTIONS.values()
        for key in (option.key, *(k for more in option.also.values() for k in more))
    }
    assert keys - set(known) == set()
    assert {"index.type", "clustering.sort_by", "keep_commits"} <= set(HUDI_OPTIONS)


def test_typed_values_become_hudi_options():
    assert render_options(
        {
            "partition_style": "plain",
            "base_file_format": "orc",
            "index.type": "global_bloom",
            "index.engine": None,
            "file_sizes.small": 0,
            "filter_duplicates": True,
            "metadata_table": False,
        }
    ) == {
        "hoodie.datasource.write.hive_style_partitioning": "false",
        "hoodie.table.base.file.format": "ORC",
        "hoodie.index.type": "GLOBAL_BLOOM",
        "hoodie.index.bloom.num_entries": "60000",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.datasource.write.insert.drop.duplicates": "true",
        "hoodie.metadata.enable": "false",
    }
    stats = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    stats["hoodie.embed.timeline.server"] = "true"
    assert render_options({"column_stats": True}) == stats
    columns = {"hoodie.metadata.index.column.stats.column.list": "a,b"}
    assert render_options({"column_stats": ("a", "b")}) == stats | columns


def test_concurrent_clustering_yields_to_writers_and_is_planned_by_services():
    given: dict[str, OptionValue] = {
        "clustering.after": 4,
        "clustering.layout": "z-order",
        "clustering.target_size": 1000,
    }
    inline = render_options(given)
    assert inline["hoodie.clustering.inline"] == "true"
    assert inline["hoodie.layout.optimize.strategy"] == "ZORDER"
    assert inline["hoodie.clustering.plan.strategy.small.file.limit"] == "800"
    assert "hoodie.clustering.updates.strategy" not in inline
    for services, planned in (("semi_async", "true"), ("async", "false")):
        beside = render_options(given | {"services": services})
        assert beside["hoodie.clustering.schedule.inline"] == planned
        assert beside["hoodie.clustering.inline"] == "false"
        assert beside["hoodie.clustering.async.max.commits"] == "4"
        assert beside["hoodie.clustering.updates.strategy"].endswith("SparkAllowUpdateStrategy")
    assert not [key for key in render_options({"services": "semi_async"}) if "clustering" in key]


def test_typed_options_win_over_ours_and_those_by_hand_over_both():
    typed = {"metadata_table": True, "keep_hours": 3}
    options = WriteOptions("t", "upsert", ("id",), typed=typed, extra={"hoodie.clean.hours.retained": "4"})
    built = options.to_hoodie()
    assert built["hoodie.metadata.enable"] == "true"
    assert built["hoodie.clean.policy"] == "KEEP_LATEST_BY_HOURS"
    assert built["hoodie.clean.hours.retained"] == "4"


def test_committed_page_is_up_to_date():
    committed = Path(__file__).parents[3] / PAGE
    assert committed.read_text(encoding="utf-8") == render_page(), (
        "run `python -m headwater.lake.typed_options.reference`"
    )
