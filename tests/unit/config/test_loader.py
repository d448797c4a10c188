"""What a user's headwater.yaml becomes, and what is said about one that is wrong."""

from pathlib import Path

import pytest

from headwater.config.loader import load_settings, parse_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

GOOD = """\
source:
  type: s3
  bucket: acme
  queue:
    url: https://sqs.eu-central-1.amazonaws.com/1/landing
lake: s3a://acme-lake/bronze
tables:
  orders:
    path: "orders/**/*.json"
    mode: merge
    record_key: order_id
    ordering: updated_at
"""
LOCAL = "source: {type: local, path: in}\nlake: out\n"


def load(text: str, environ: dict[str, str] | None = None, **overrides: str) -> Settings:
    return parse_settings(text, Path("headwater.yaml"), environ or {}, overrides)


def problems(
    text: str, environ: dict[str, str] | None = None, overrides: dict[str, str] | None = None
) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_settings(text, Path("headwater.yaml"), environ or {}, overrides or {})
    assert caught.value.exit_code == 2
    return caught.value.message.splitlines()


def only_problem(
    text: str, environ: dict[str, str] | None = None, overrides: dict[str, str] | None = None
) -> str:
    found = problems(text, environ, overrides)
    assert len(found) == 1, found
    return found[0]


def test_minimal_configuration_is_at_most_15_lines_and_loads() -> None:
    settings = load(GOOD)
    assert len(GOOD.splitlines()) <= 15
    orders = settings.tables["orders"]
    assert (orders.effective_mode, orders.effective_format, orders.effective_operation) == (
        "merge",
        "json",
        "upsert",
    )
    assert orders.record_key == ("order_id",)


def test_unknown_key_names_line_path_suggestion_and_allowed_keys() -> None:
    line = only_problem(GOOD + "    opertion: upsert\n")
    assert line.startswith("headwater.yaml:13: tables.orders.opertion: unknown key 'opertion'.")
    assert "Did you mean 'operation'? Allowed: base_file_format, " in line


def test_invalid_word_is_reported_with_allowed_words() -> None:
    line = only_problem(GOOD + "    operation: upser\n")
    assert line == (
        "headwater.yaml:13: tables.orders.operation: 'upser' is not allowed. Did you mean 'upsert'? "
        "Allowed: upsert, insert, bulk_insert"
    )


def test_number_out_of_range_error_names_the_range() -> None:
    text = GOOD.replace("  queue:\n", "  queue:\n    long_poll_wait: 21\n")
    assert only_problem(text) == (
        "headwater.yaml:5: source.queue.long_poll_wait: 21 is not allowed. "
        "Allowed: a whole number from 0 to 20"
    )


def test_missing_key_error_names_three_ways_to_set_it() -> None:
    line = only_problem(GOOD.replace("  bucket: acme\n", ""))
    assert line.startswith("headwater.yaml:1: source.bucket: required but not set.")
    assert "in the file" in line
    assert "HEADWATER__SOURCE__BUCKET" in line
    assert "--set source.bucket=" in line


def test_missing_section_error_names_a_settable_key() -> None:
    text = GOOD[GOOD.index("lake:") :]
    assert "source.type: required" in only_problem(text)


def test_a_bucket_without_a_queue_is_enough() -> None:
    text = GOOD.replace("  queue:\n    url: https://sqs.eu-central-1.amazonaws.com/1/landing\n", "")
    (source,) = load(text).sources
    assert source.type == "s3"
    assert (source.queue.url, source.notifications, source.resources.max_receive_count) == (None, "sqs", 10)


@pytest.mark.parametrize("name", ["headwater:owner", "aws:created"])
def test_tags_with_a_reserved_beginning_are_refused(name: str) -> None:
    text = GOOD.replace("  queue:\n", f"  resources:\n    tags:\n      '{name}': x\n  queue:\n")
    assert f"the tag '{name}' has a prefix reserved for headwater" in only_problem(text)


def test_empty_file_error_names_all_required_keys() -> None:
    text = "\n".join(problems(""))
    assert "source.type: required" in text
    assert "lake: required" in text
    assert "tables: required" in text


def test_kind_of_source_is_no_part_of_the_path() -> None:
    text = GOOD.replace("bucket: acme", "bucket: 5")
    assert only_problem(text).startswith("headwater.yaml:3: source.bucket: 5 is not allowed.")


def test_unknown_source_type_error_names_the_types() -> None:
    text = GOOD.replace("type: s3", "type: s4")
    assert (
        only_problem(text)
        == "headwater.yaml:2: source.type: 's4' is not allowed. Allowed: azure, gcs, kafka, local, s3"
    )


def test_all_problems_are_reported_in_file_order() -> None:
    text = """\
source: {type: local, pth: in}
lak: out
tables:
  a: {path: a.json, mode: merg}
  b:
    path: b.json
    ordering: ts
    operation: upsert
  events: {path: e.json}
  c: {path: c.unknown}
spark:
  config: {shuffle: 5}
"""
    found = problems(text)
    reported = [line.split(": ")[1] for line in found]
    for path in (
        "source.pth",
        "source.path",
        "lak",
        "lake",
        "tables.a.mode",
        "tables.b.ordering",
        "tables.b.operation",
        "tables.events",
        "tables.c.format",
        "spark.config.shuffle",
    ):
        assert path in reported, path
    lines = [int(line.split(":")[1]) for line in found if line.split(":")[1].isdigit()]
    assert lines == sorted(lines)


def test_combinations_are_checked_despite_an_unknown_key() -> None:
    text = LOCAL + "tables:\n  a:\n    path: a.json\n    orderin: ts\n"
    found = problems(text)
    assert any("unknown key 'orderin'" in line for line in found)
    assert any("`ordering`" in line or "tables.a.ordering: not applicable" in line for line in found)


def test_key_put_outside_its_section_is_sent_there() -> None:
    line = only_problem(LOCAL + "tables:\n  a:\n    path: a.json\n    hoodie.index.type: BUCKET\n")
    assert "tables.a.hoodie.index.type" in line
    assert "Put it below `hoodie:`" in line


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("{path: a.json, mode: merge}", "record_key: missing; `mode: merge` requires"),
        ("{path: a.json, ordering: ts}", "ordering: not applicable with `mode"),
        ("{path: a.json, operation: upsert}", "operation: 'upsert' requires `mode: merge`"),
        ("{path: a.json, record_key: id, operation: insert}", "operation: 'insert' would keep duplicates"),
        (
            "{path: a.json, cdc: data_before, operation: insert}",
            "operation: 'insert' cannot be combined with `cdc:",
        ),
        ("{path: a.json, mode: mirror, record_key: id}", "record_key: not applicable with `mode"),
        ("{path: a.json, mode: mirror, ordering: ts}", "ordering: not applicable with `mode"),
        ("{path: a.json, mode: mirror, operation: insert}", "operation: 'insert' cannot replace rows"),
        (
            "{path: a.json, mode: mirror, on_object_removed: ignore}",
            "on_object_removed: 'ignore' cannot be combined with `mode: mirror`. Allowed: retract",
        ),
        (
            "{path: a.json, on_object_removed: tombstone}",
            "on_object_removed: 'tombstone' cannot be combined with `mode: append`. Allowed: ignore. To "
            "delete rows of removed objects, use `mode",
        ),
        (
            "{path: a.json, record_key: id, on_object_removed: retract}",
            "on_object_removed: 'retract' cannot be combined",
        ),
        (
            "{path: a.json, schema: id bigint, schema_evolution_mode: add_new_columns}",
            "schema_evolution_mode: 'add_new_columns' cannot be combined with `schema`",
        ),
        (
            "{path: a.txt, schema_evolution_mode: rescue}",
            "schema_evolution_mode: 'rescue' is not applicable: `format: text` has fixed columns",
        ),
        ("{path: a.txt, rescued_data_column: rest}", "rescued_data_column: not applicable"),
        ("{path: a.json, rescued_data_column: _hoodie_x}", "rescued_data_column: '_hoodie_x' is not"),
        ("{path: a.json, rescued_data_column: a b}", "rescued_data_column: 'a b' is not a valid column name"),
        ("{path: [a.json, b.csv]}", "path: the paths imply several formats (csv, json)"),
        ("{path: []}", "path: the list is empty"),
        ("{path: a.json, regex: '['}", "regex: '[' is not a regular expression"),
        ("{path: a.json, hoodie: {index.type: X}}", "hoodie.index.type: unknown key 'index.type'"),
        (
            "{path: a.json, max_bytes_per_trigger: 3 parsecs}",
            "max_bytes_per_trigger: '3 parsecs' is not allowed",
        ),
    ],
)
def test_invalid_table_is_reported_at_its_key(table: str, words: str) -> None:
    assert f"headwater.yaml:4: tables.a.{words}" in only_problem(f"{LOCAL}tables:\n  a: {table}\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1, 2\n", "not valid YAML"),
        ("a:\n\t- b\n", "not valid YAML"),
        ("a: *nowhere\n", "not valid YAML"),
        ("- a\n- b\n", "must be a mapping with keys such as `source:`"),
        ("just text\n", "must be a mapping with keys such as `source:`"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
    ],
)
def test_text_that_is_not_a_yaml_mapping_is_one_problem_with_its_line(text: str, words: str) -> None:
    line = only_problem(text)
    assert words in line
    assert line.split(":")[1].isdigit()


def test_duplicate_key_is_an_error_that_names_both_lines() -> None:
    line = only_problem(GOOD + "    mode: append\n")
    assert line == "headwater.yaml:13: tables.orders.mode: duplicate key 'mode' (first in line 10)"


def test_tags_that_build_objects_are_refused() -> None:
    line = only_problem(GOOD.replace("bucket: acme", "bucket: !!python/name:os.system acme"))
    assert "headwater.yaml:3: source.bucket: the tag" in line


def test_self_containing_alias_is_an_error_not_a_hang() -> None:
    assert any("alias" in line for line in problems(GOOD + "    options: &o {a: *o}\n"))


def test_anchors_and_merge_keys_work_and_keep_their_lines() -> None:
    text = LOCAL + "tables:\n  a: &a\n    path: a.json\n    prefix: p/\n  b:\n    <<: *a\n    path: b.json\n"
    tables = load(text).tables
    assert (tables["b"].path, tables["b"].prefix) == (("b.json",), "p/")
    wrong = text.replace("prefix: p/", "prefix: 5")
    assert {line.split(": ")[0] for line in problems(wrong)} == {"headwater.yaml:6"}


@pytest.mark.parametrize(
    "line",
    [
        "spark: {config: {spark.hadoop.fs.s3a.secret.key: hunter22}}",
        "spark: {config: {spark.hadoop.fs.s3a.access.key: hunter22}}",
        "spark: {config: {spark.hadoop.fs.s3a.session.token: hunter22}}",
        "lake_storage: {endpoint: 'https://me:hunter22@store'}",
        "lake_storage: {secret_key: hunter22}",
        "password: hunter22",
    ],
)
def test_secret_in_the_file_is_an_error_that_does_not_repeat_it(line: str) -> None:
    found = only_problem(GOOD + line + "\n")
    assert "secrets are not allowed in files" in found
    assert "environment" in found
    assert "hunter22" not in found


def test_secret_on_the_command_line_is_an_error_but_not_in_the_environment() -> None:
    key = "spark.config.spark.hadoop.fs.s3a.secret.key"
    found = only_problem(GOOD, overrides={key: "hunter22"})
    assert found.startswith(f"--set {key}: ")
    assert "hunter22" not in found
    settings = load(GOOD, {"HEADWATER__SPARK__CONFIG__spark.hadoop.fs.s3a.secret.key": "hunter22"})
    assert settings.spark.config == {"spark.hadoop.fs.s3a.secret.key": "hunter22"}
    assert "hunter22" not in str(settings.to_effective())


def test_keys_about_secrets_that_are_none_are_fine() -> None:
    config = "{spark.hadoop.fs.s3a.aws.credentials.provider: a.b.C}"
    assert load(f"{GOOD}spark: {{config: {config}}}\n").spark.config


def test_environment_sets_nested_keys_whatever_their_case() -> None:
    settings = load(
        GOOD,
        {
            "HEADWATER__SOURCE__QUEUE__LONG_POLL_WAIT": "5",
            "headwater__source__bucket": "12345",
            "HEADWATER__TABLES__ORDERS__RECORD_KEY": "a,b",
            "HEADWATER__TABLES__ORDERS__HOODIE__HOODIE__INDEX__TYPE": "BUCKET",
            "HEADWATER__TABLES__MORE__PATH": '["x/*.csv", "y/*.csv"]',
            "HEADWATER_CONFIG": "not a key",
            "PATH": "/bin",
        },
    )
    assert settings.sources[0].type == "s3"
    assert settings.sources[0].bucket == "12345"
    assert settings.sources[0].queue.long_poll_wait == 5
    assert settings.tables["orders"].record_key == ("a", "b")
    assert settings.tables["orders"].hoodie == {"hoodie.index.type": "BUCKET"}
    assert settings.tables["more"].path == ("x/*.csv", "y/*.csv")


def test_command_line_wins_over_environment_which_wins_over_file() -> None:
    environ = {"HEADWATER__LAKE": "/from/env", "HEADWATER__SOURCE__PREFIX": "env/"}
    settings = load(GOOD, environ, lake="/from/flag")
    assert settings.lake == "/from/flag"
    assert settings.sources[0].type == "s3"
    assert settings.sources[0].prefix == "env/"


def test_set_supports_keys_with_dots_and_list_like_patterns() -> None:
    settings = parse_settings(
        GOOD,
        Path("headwater.yaml"),
        {},
        {"tables.orders.hoodie.hoodie.index.type": "BLOOM", "tables.orders.path": "[ab]/*.json"},
    )
    assert settings.tables["orders"].hoodie == {"hoodie.index.type": "BLOOM"}
    assert settings.tables["orders"].path == ("[ab]/*.json",)


def test_problem_from_outside_the_file_names_its_origin() -> None:
    name = "HEADWATER__SOURCE__QUEUE__LONG_POLL_WAIT"
    assert only_problem(GOOD, {name: "soon"}).startswith(
        f"environment variable {name}: source.queue.long_poll_wait:"
    )
    assert only_problem(GOOD, overrides={"lakee": "x"}).startswith("--set lakee: lakee: unknown key 'lakee'")


def test_scalars_of_option_maps_are_taken_as_text() -> None:
    options = "    options: {header: true, samplingRatio: 0.5, maxColumns: 5, dateFormat: 2024-01-01}\n"
    assert load(GOOD.replace("*.json", "*.csv") + options).tables["orders"].options == {
        "header": "true",
        "samplingRatio": "0.5",
        "maxColumns": "5",
        "dateFormat": "2024-01-01",
    }


def test_nested_option_is_an_error() -> None:
    assert "tables.orders.options.a: a list is not allowed" in only_problem(GOOD + "    options: {a: [1]}\n")


def test_sizes_are_read_with_units() -> None:
    assert load(GOOD + "    large_file_bytes: 1MiB\n").tables["orders"].large_file_bytes == 1024**2


def test_section_with_all_keys_commented_out_means_the_defaults() -> None:
    assert load(GOOD + "spark:\n  # master: local[2]\n").spark.master == "local[*]"


def test_relative_paths_resolve_from_the_file_and_home_is_expanded(tmp_path: Path) -> None:
    path = tmp_path / "conf" / "headwater.yaml"
    path.parent.mkdir()
    path.write_text("source: {type: local, path: ../in}\nlake: lake\ntables: {a: {path: a.json}}\n")
    settings = load_settings(path, environ={})
    assert settings.sources[0].type == "local"
    assert settings.sources[0].path.resolve() == tmp_path / "in"
    assert settings.lake == str(tmp_path / "conf" / "lake")
    home = load_settings(path, environ={}, overrides={"lake": "~/lake"})
    assert home.lake == str(Path.home() / "lake")


def test_lake_inside_the_source_folder_is_an_error() -> None:
    text = "source: {type: local, path: in}\nlake: in/lake\ntables: {a: {path: a.json}}\n"
    assert "headwater.yaml:2: lake: " in only_problem(text)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "headwater.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"headwater\.yaml: (file does not exist|not UTF-8 text)"):
        load_settings(path, environ={})
    with pytest.raises(ConfigError, match="cannot read the file"):
        load_settings(tmp_path, environ={})


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(GOOD).lake = "elsewhere"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("table", "mode", "column"),
    [
        ("{path: a.json}", "add_new_columns", None),
        ("{path: a.json, schema: id bigint}", "none", None),
        ("{path: a.txt}", "none", None),
        ("{path: a.json, schema: id bigint, schema_evolution_mode: rescue}", "rescue", "_rescued_data"),
        ("{path: a.json, rescued_data_column: rest}", "add_new_columns", "rest"),
    ],
)
def test_columns_evolve_unless_they_are_given(table: str, mode: str, column: str | None) -> None:
    found = load(f"{LOCAL}tables:\n  a: {table}\n").tables["a"]
    assert (found.effective_schema_evolution_mode, found.effective_rescued_data_column) == (mode, column)
