"""`source` as a list: names, and sources whose objects cannot be told apart or would be ingested twice."""

from pathlib import Path

import pytest

from headwater.config.loader import parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

TABLES = "tables: {t: {path: '*.json'}}"


def load(*sources: str, tables: str = TABLES, lake: str = "s3a://lake/bronze") -> Settings:
    listed = "".join(f"- {{{source}}}\n" for source in sources)
    text = f"source:\n{listed}lake: {lake}\n{tables}\n"
    return parse_settings(text, Path("headwater.yaml"), {}, installed=lambda _: True)


def problems(*sources: str, tables: str = TABLES, lake: str = "s3a://lake/bronze") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(*sources, tables=tables, lake=lake)
    return caught.value.message.splitlines()


def test_a_table_takes_objects_of_all_sources_or_of_those_named() -> None:
    settings = load(
        "name: east, type: s3, bucket: e",
        "name: west, type: gcs, bucket: w",
        "name: files, type: local, path: /data/in",
        tables="tables: {all: {path: '*.json'}, one: {path: '*.json', source: west}, "
        "two: {path: '*.json', source: [files, east]}}",
    )
    found = {name: [one.name for one in settings.list_sources_of(name)] for name in settings.tables}
    assert found == {"all": ["east", "west", "files"], "one": ["west"], "two": ["east", "files"]}


def test_one_mapping_is_a_list_of_one() -> None:
    text = f"source: {{type: s3, bucket: b}}\nlake: s3a://l\n{TABLES}"
    settings = parse_settings(text, Path("headwater.yaml"), {})
    assert [source.known_location for source in settings.sources] == ["b"]
    assert settings.list_sources_of("t") == settings.sources


def test_each_source_of_a_list_has_a_name_of_its_own() -> None:
    (line,) = problems("type: s3, bucket: a")
    assert line.startswith("headwater.yaml:2: source[0].name: missing")
    (line,) = problems("name: a, type: s3, bucket: a", "name: a, type: s3, bucket: b")
    assert "source[1].name: 'a' is also the name of another source" in line
    (line,) = problems("name: a.b, type: s3, bucket: a")
    assert line.startswith("headwater.yaml:2: source[0].name: 'a.b' is not allowed")


def test_problems_of_a_source_have_its_line_and_its_place_in_the_list() -> None:
    missing, unknown = problems("name: a, type: s3, bucket: a", "name: b, type: s3, buckt: b")
    assert missing == (
        "headwater.yaml:3: source[1].bucket: required but not set. Allowed: text such as 'acme-landing'"
    )
    assert unknown.startswith(
        "headwater.yaml:3: source[1].buckt: unknown key 'buckt'. Did you mean 'bucket'? Allowed: "
    )
    (line,) = problems("name: a, type: s4, bucket: b")
    assert "source[0].type: 's4' is not allowed. Allowed: azure, gcs, kafka, local, s3" in line


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"source: empty; specify at least one source"):
        parse_settings(f"source: []\nlake: s3a://l\n{TABLES}", Path("headwater.yaml"), {})


@pytest.mark.parametrize(
    ("one", "other", "key", "said"),
    [
        ("type: s3, bucket: x", "type: gcs, bucket: x", "bucket", "in another cloud"),
        ("type: s3, bucket: x", "type: s3, bucket: x, prefix: in/", "prefix", "overlaps the prefix ''"),
        ("type: s3, bucket: x, prefix: a/", "type: s3, bucket: x, prefix: a/b", "prefix", "overlaps"),
        ("type: s3, bucket: x, prefix: a/", "type: s3, bucket: x, prefix: a/", "prefix", "remove one"),
        (
            "type: s3, bucket: x, prefix: a/, region: eu-west-1",
            "type: s3, bucket: x, prefix: b/",
            "region",
            "set the same value",
        ),
        ("type: s3, bucket: x, moved_from: y", "type: s3, bucket: y, prefix: b/", "bucket", "same name"),
        (
            "type: s3, bucket: x, clean_source: tag, queue: {url: 'https://q/1'}",
            "type: s3, bucket: x, queue: {url: 'https://q/2'}",
            "clean_source",
            "which has the same objects",
        ),
        (
            "type: s3, bucket: x, queue: {url: 'https://q/1', receivers: 2}",
            "type: s3, bucket: y, queue: {url: 'https://q/1'}",
            "queue",
            "which has the same queue",
        ),
        (
            "type: s3, bucket: x, resources: {name: same}",
            "type: s3, bucket: y, resources: {name: same}",
            "resources",
            "choose another `name`",
        ),
        ("type: local, path: /data", "type: local, path: /data/in", "path", "ingested twice"),
        ("type: local, path: /data/in", "type: local, path: /data", "path", "ingested twice"),
    ],
)
def test_sources_in_conflict_name_the_key_and_the_fix(one: str, other: str, key: str, said: str) -> None:
    (line,) = problems(f"name: one, {one}", f"name: other, {other}")
    assert line.startswith(f"headwater.yaml:3: source[1].{key}: ")
    assert said in line
    assert "'one'" in line


def test_prefixes_of_one_bucket_and_queues_of_one_place_are_several_sources() -> None:
    apart = load("name: a, type: s3, bucket: x, prefix: a/", "name: b, type: s3, bucket: x, prefix: b/")
    assert len(apart.listed_sources) == 2
    together = load(
        "name: a, type: s3, bucket: x, queue: {url: 'https://q/1'}",
        "name: b, type: s3, bucket: x, queue: {url: 'https://q/2'}",
        tables="tables: {t: {path: '*.json', source: b}}",
    )
    assert len(together.sources) == 2
    assert [source.name for source in together.listed_sources] == ["a"]
    assert together.list_sources_of("t") == together.listed_sources


@pytest.mark.parametrize(
    ("target", "prefix", "is_refused"),
    [
        ("s3://b/", "", True),
        ("s3://b/in/", "in/", True),
        ("s3://b/out/", "in/", False),
        ("s3://c/", "", False),
    ],
)
def test_cleaned_objects_must_not_move_into_another_source(
    target: str, prefix: str, is_refused: bool
) -> None:
    cleaned = f"name: a, type: s3, bucket: a, clean_source: move, clean_source_move_to: '{target}'"
    other = f"name: b, type: s3, bucket: b, prefix: '{prefix}'"
    if is_refused:
        (line,) = problems(cleaned, other)
        assert "source[0].clean_source_move_to: " in line
        assert "inside the source 'b'" in line
    else:
        load(cleaned, other)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("{path: '*.json', source: eats}", "unknown source 'eats'. Did you mean 'east'? Allowed: east, west"),
        ("{from: t, source: east}", "cannot be combined with `from: t`"),
    ],
)
def test_sources_of_a_table_are_checked(table: str, said: str) -> None:
    tables = f"tables: {{t: {{path: '*.json'}}, u: {table}}}"
    (line,) = problems("name: east, type: s3, bucket: e", "name: west, type: s3, bucket: w", tables=tables)
    assert "tables.u.source: " in line
    assert said in line


def test_a_set_of_files_is_in_one_source() -> None:
    table = "path: 'dumps/*/part-*.json', record_key: id, complete_when: {quiet_for: 1h}"
    sources = ("name: east, type: s3, bucket: e", "name: west, type: s3, bucket: w")
    (line,) = problems(*sources, tables=f"tables: {{t: {{{table}}}}}")
    assert "tables.t.complete_when: a set of files is in one source" in line
    assert "Allowed: east, west" in line
    load(*sources, tables=f"tables: {{t: {{{table}, source: west}}}}")


def test_the_lake_is_in_no_folder_of_a_source() -> None:
    sources = ("name: a, type: local, path: /a", "name: b, type: local, path: /b")
    (line,) = problems(*sources, lake="/b/lake")
    assert "is inside the source folder '/b'" in line


def test_spark_has_one_endpoint_for_buckets_of_cloud_storage() -> None:
    gcs = "type: gcs, file_system_scheme: gs"
    (line,) = problems(f"name: a, {gcs}, bucket: a", f"name: b, {gcs}, bucket: b, endpoint: 'http://b:1'")
    assert "source[1].endpoint: 'http://b:1' differs from that of source 'a'" in line


def test_a_key_of_a_list_cannot_be_set_from_outside() -> None:
    text = f"source: [{{name: a, type: s3, bucket: a}}]\nlake: s3a://l\n{TABLES}"
    path = Path("headwater.yaml")
    with pytest.raises(ConfigError, match=r"--set source\.region: source is a list") as caught:
        parse_settings(text, path, {}, {"source.region": "eu-west-1"})
    assert "--set 'source=[...]'" in caught.value.hint
    with pytest.raises(ConfigError, match=r"variable HEADWATER__SOURCE__QUEUE__URL: source is a list"):
        parse_settings(text, path, {"HEADWATER__SOURCE__QUEUE__URL": "https://q"})
    whole = {"source": '[{"name": "b", "type": "s3", "bucket": "b"}]'}
    assert [source.name for source in parse_settings(text, path, {}, whole).sources] == ["b"]


def test_the_printed_configuration_is_a_list_again() -> None:
    settings = load("name: a, type: s3, bucket: a", "name: b, type: local, path: /b")
    shown = settings.to_effective()["source"]
    assert isinstance(shown, list)
    assert [(one["name"], one["type"]) for one in shown] == [("a", "s3"), ("b", "local")]
    assert Settings.model_validate(settings.model_dump(by_alias=True)) == settings
