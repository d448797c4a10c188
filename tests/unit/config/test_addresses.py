"""Addresses, placeholders and relative paths: what can only be a mistake is refused, with what to write."""

from pathlib import Path

import pytest

from headwater.config.loader import load_settings, parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

TABLES = "tables: {a: {path: '*.json'}}\n"
BUCKET = "source: {type: s3, bucket: acme}\n"
FOLDER = "source: {type: local, path: in}\n"


def load(text: str) -> Settings:
    return parse_settings(text, Path("headwater.yaml"), {})


def list_problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        load(text)
    assert raised.value.exit_code == 2
    return raised.value.message.splitlines()


@pytest.mark.parametrize(
    ("bucket", "meant"),
    [
        ("s3://acme", "write `bucket: acme`"),
        ("s3a://acme/", "write `bucket: acme`"),
        ("s3://acme/in/orders/", "write `bucket: acme` and `prefix: in/orders/`"),
        ("acme/in", "write `bucket: acme` and `prefix: in/`"),
        ("/acme", "write `bucket: acme`"),
        (" acme ", "write `bucket: acme`"),
        ("https://acme.s3.amazonaws.com", "is not a bucket name"),
        ("s3://", "write `bucket: NAME`"),
    ],
)
def test_a_bucket_is_a_name(bucket: str, meant: str) -> None:
    (problem,) = list_problems(f"source: {{type: s3, bucket: '{bucket}'}}\nlake: s3a://lake\n{TABLES}")
    assert problem.startswith("headwater.yaml:1: source.bucket: ")
    assert meant in problem


@pytest.mark.parametrize(
    "bucket", ["acme", "acme.eu-1", "Acme_legacy", "arn:aws:s3:eu-west-1:1:accesspoint/a", "b" * 63]
)
def test_names_of_buckets_are_taken(bucket: str) -> None:
    source = load(f"source: {{type: s3, bucket: '{bucket}'}}\nlake: s3a://lake\n{TABLES}").sources[0]
    assert source.type == "s3"
    assert source.bucket == bucket


@pytest.mark.parametrize("key", ["path", "prefix", "ignore_prefix"])
@pytest.mark.parametrize("scheme", ["s3", "s3a", "https", "file"])
def test_a_pattern_of_a_table_is_no_address(key: str, scheme: str) -> None:
    pattern = f"{scheme}://acme/orders/*.json"
    (problem,) = list_problems(
        f"{BUCKET}lake: s3a://lake\ntables: {{a: {{format: json, {key}: '{pattern}'}}}}\n"
    )
    assert problem.startswith(f"headwater.yaml:3: tables.a.{key}: ")
    assert "write a key relative to the source, such as 'orders/*.json'" in problem


def test_addresses_and_invalid_columns_are_reported_together() -> None:
    problems = list_problems(
        "source: {type: s3, bucket: 's3://acme'}\nlake: '${LAKE}'\ntables:\n"
        "  a: {path: 's3://acme/a/*.json'}\n"
        "  b: {path: '*.json', schema: 'id bigintt'}\n"
        "  c: {path: '*.csv', schema_hints: 'id'}\n"
    )
    assert [line.split(": ")[1] for line in problems] == [
        "source.bucket",
        "lake",
        "tables.a.path",
        "tables.b.schema",
        "tables.c.schema_hints",
    ]


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("/data/in/x/*.json", "such as 'x/*.json'"),
        ("/other/*.json", "relative to the source folder '/data/in'"),
    ],
)
def test_a_pattern_below_a_folder_does_not_begin_with_a_slash(pattern: str, meant: str) -> None:
    text = f"source: {{type: local, path: /data/in}}\nlake: /lake\ntables: {{a: {{path: '{pattern}'}}}}\n"
    (problem,) = list_problems(text)
    assert problem.startswith("headwater.yaml:3: tables.a.path: ")
    assert meant in problem


def test_a_key_of_a_bucket_may_begin_with_a_slash() -> None:
    assert load(f"{BUCKET}lake: s3a://lake\ntables: {{a: {{path: '/in/*.json'}}}}\n").tables["a"].path == (
        "/in/*.json",
    )


def test_a_folder_is_no_bucket() -> None:
    (problem,) = list_problems(f"source: {{type: local, path: 's3://acme/in'}}\nlake: out\n{TABLES}")
    assert "for a bucket, set `type: s3` and `bucket`" in problem


@pytest.mark.parametrize(
    ("text", "path", "variable"),
    [
        (
            f"source: {{type: s3, bucket: '${{BUCKET}}'}}\nlake: l\n{TABLES}",
            "source.bucket",
            "SOURCE__BUCKET",
        ),
        (f"{BUCKET}lake: 's3a://${{LAKE:-lake}}/x'\n{TABLES}", "lake", "LAKE"),
        (f"{BUCKET}lake: $LAKE\n{TABLES}", "lake", "LAKE"),
        (
            f"{FOLDER}lake: l\ntables: {{a: {{path: ['${{DAY}}/*.json']}}}}\n",
            "tables.a.path[0]",
            "TABLES__A__PATH",
        ),
    ],
)
def test_unset_placeholder_is_reported_with_its_variable(text: str, path: str, variable: str) -> None:
    problems = [line for line in list_problems(text) if "headwater does not substitute" in line]
    assert len(problems) == 1
    assert f": {path}: " in problems[0]
    assert problems[0].endswith(f"HEADWATER__{variable}")


@pytest.mark.parametrize(
    "text",
    [
        "tables: {a: {path: 'in/$x/{a,b}$.json'}}\n",
        "tables: {a: {path: '*.json', regex: 'a$'}}\n",
        "tables: {a: {path: '*.json'}}\nspark: {config: {spark.hadoop.x: '${env.HOME}'}}\n",
    ],
)
def test_dollars_with_a_meaning_are_left_alone(text: str) -> None:
    load(f"{FOLDER}lake: l\n{text}")


@pytest.mark.parametrize(
    "given", ["../x/headwater.yaml", "./../x/headwater.yaml", "../x/../x/headwater.yaml"]
)
def test_relative_paths_resolve_from_a_file_in_a_sibling_folder(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "here").mkdir()
    text = (
        f"source: {{type: local, path: ../landing}}\nlake: lake\nlineage: {{file: ../events.jsonl}}\n{TABLES}"
    )
    (tmp_path / "x/headwater.yaml").write_text(text)
    monkeypatch.chdir(tmp_path / "here")
    settings = load_settings(Path(given), {})
    assert settings.lake == str(tmp_path / "x/lake")
    assert settings.sources[0].type == "local"
    assert settings.sources[0].path == tmp_path / "landing"
    assert settings.lineage is not None
    assert settings.lineage.file == tmp_path / "events.jsonl"


def test_a_link_to_a_folder_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    text = f"source: {{type: local, path: in}}\nlake: link/lake\n{TABLES}"
    assert parse_settings(text, tmp_path / "headwater.yaml", {}).lake == str(tmp_path / "link/lake")
