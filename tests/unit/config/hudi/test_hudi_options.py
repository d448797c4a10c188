"""Hudi options given by hand: what is refused before Spark starts, what is only warned of, what passes."""

import logging
from pathlib import Path

import pytest

from headwater.config.hudi.known_options import load_known_options
from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

HEAD = """\
source: {type: local, path: in}
lake: out
tables:
  orders:
    path: "*.json"
"""


def load(hoodie: str = "", spark: str = "") -> Settings:
    text = HEAD
    text += f"    hoodie:\n      {hoodie}\n" if hoodie else ""
    text += f"spark:\n  config:\n    {spark}\n" if spark else ""
    return parse_settings(text, Path("headwater.yaml"), {})


def only_problem(**sections: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(**sections)
    assert caught.value.exit_code == 2
    (line,) = caught.value.message.splitlines()
    return line


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("hoodie.parquet.compresion.codec: zstd", "hoodie.parquet.compression.codec"),
        ("hoodie.clean.commit.retained: 5", "hoodie.clean.commits.retained"),
        ("hoodie.Index.Type: BLOOM", "hoodie.index.type"),
    ],
)
def test_key_that_is_nearly_a_known_one_is_refused_at_its_line(given, meant):
    problem = only_problem(hoodie=given)
    assert problem.startswith(
        f"headwater.yaml:7: tables.orders.hoodie.{given.partition(':')[0]}: unknown key"
    )
    assert problem.endswith(f"Did you mean {meant!r}?")


def test_session_settings_that_hudi_reads_are_checked_too():
    problem = only_problem(spark="spark.hoodie.metadata.enabel: true")
    assert problem.startswith("headwater.yaml:8: spark.config.spark.hoodie.metadata.enabel: unknown key")
    assert load(spark="spark.sql.metadata.enabel: true").spark.config


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ("hoodie.clean.automatic: 'yes'", "'yes' is not allowed. Allowed: true, false; Hudi's default: true"),
        ("hoodie.parquet.small.file.limit: 10MB", "'10MB' is not allowed. Allowed: a whole number"),
        ("hoodie.index.bloom.fpp: tiny", "'tiny' is not allowed. Allowed: a number"),
        ("hoodie.index.type: BLOM", "'BLOM' is not allowed. Did you mean 'BLOOM'? Allowed: BLOOM, BUCKET,"),
        # An old name has the kind of the new one.
        ("hoodie.cleaner.commits.retained: few", "'few' is not allowed. Allowed: a whole number"),
    ],
)
def test_value_of_wrong_type_is_rejected_with_allowed_values(given, allowed):
    assert allowed in only_problem(hoodie=given)


@pytest.mark.parametrize(
    "given",
    [
        "hoodie.clean.automatic: false",
        "hoodie.clean.commits.retained: 5",
        "hoodie.index.type: bloom",
        "hoodie.index.bloom.fpp: 0.01",
        "hoodie.write.table.version: 8",
        "hoodie.datasource.write.operation: insert_overwrite",
    ],
)
def test_right_options_pass_without_a_word(given, caplog):
    key, value = given.split(": ")
    assert load(hoodie=given).tables["orders"].hoodie == {key: value}
    assert caplog.records == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("hoodie.acme.threshold: 3", "Hudi 1.2.0 has no such option; passed on unchecked"),
        ("hoodie.cleaner.commits.retained: 3", "is a deprecated name; use hoodie.clean.commits.retained"),
        (
            "hoodie.datasource.write.payload.class: a.B",
            "is deprecated since Hudi 1.0.0: use hoodie.write.record.merge.mode",
        ),
    ],
)
def test_unlike_and_outdated_keys_pass_with_a_warning(given, said, caplog):
    key, _, value = given.partition(": ")
    with caplog.at_level(logging.WARNING):
        assert load(hoodie=given).tables["orders"].hoodie == {key: value}
    assert [record.getMessage() for record in caplog.records] == [
        f"headwater.yaml:7: tables.orders.hoodie.{key}: {said}"
    ]


def test_all_problems_are_reported_together():
    with pytest.raises(ConfigError) as caught:
        load(
            hoodie="hoodie.index.typ: BLOOM\n      index.type: x",
            spark="spark.hoodie.metadata.enable: maybe",
        )
    assert len(caught.value.message.splitlines()) == 3


def test_list_is_read_only_when_there_is_something_to_look_up():
    load_known_options.cache_clear()
    load(spark="spark.ui.enabled: true")
    assert load_known_options.cache_info().currsize == 0
    load(hoodie="hoodie.clean.automatic: true")
    assert load_known_options.cache_info().currsize == 1


def test_every_known_option_may_be_given_with_its_own_default(caplog):
    known = load_known_options()
    assert len(known.by_key) > 600
    for option in known.by_key.values():
        if option.key.startswith("hoodie.") and option.default is not None:
            settings = Settings.model_validate(
                {
                    "source": {"type": "local", "path": "in"},
                    "lake": "out",
                    "tables": {"t": {"path": "*.json", "hoodie": {option.key: option.default}}},
                }
            )
            assert settings.tables["t"].hoodie == {option.key: option.default}


def test_old_names_and_replacements_lead_to_known_options():
    known = load_known_options()
    for name, key in known.renamed.items():
        assert known.by_key[key].key == key != name
    for option in known.by_key.values():
        assert not option.replaced_by or option.replaced_by in known.by_key
