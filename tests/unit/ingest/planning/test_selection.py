"""Which keys belong to a table, and what their path says."""

import pytest

from headwater.config.table import TableConfig
from headwater.ingest.planning.selection import build_selector, parse_partition_values


@pytest.mark.parametrize(
    ("table", "key", "rule"),
    [
        ({"path": "orders/**/*.json"}, "orders/a.json", None),
        ({"path": "orders/**/*.json"}, "orders/2026/05/a b+é#%41.json", None),
        ({"path": "orders/**/*.json"}, "orders2/a.json", "path"),
        ({"path": "orders/*.json"}, "orders/x/a.json", "path"),
        ({"path": "orders/*.{json,json.gz}"}, "orders/a.json.gz", None),
        ({"path": ["a/*.json", "b/*.json"]}, "b/1.json", None),
        ({"path": "a/[[]x].json"}, "a/[x].json", None),
        ({"path": "**/*.json"}, "a/new\nline.json", None),
        ({"path": "**/*.json"}, ".hidden/a.json", None),
        ({"path": "**/*.json", "prefix": "a_"}, "axb.json", "prefix"),
        ({"path": "**", "format": "csv", "suffix": [".csv", ".tsv"]}, "a.json", "suffix"),
        ({"path": "**/*.json", "regex": r"a/\d+\.json"}, "a/12.json", None),
        ({"path": "**/*.json", "regex": r"a/\d+\.json"}, "a/12x.json", "regex"),
        ({"path": "**/*.json", "ignore_prefix": "a/tmp"}, "a/tmp-1.json", "ignore_prefix"),
        ({"path": "**/*.json", "ignore_substring": "_temporary"}, "a/_temporary/1.json", "ignore_substring"),
        ({"path": "**/*.json", "ignore_substring": "%"}, "a/b.json", None),
    ],
)
def test_rule_that_leaves_a_key_out(table, key, rule):
    assert build_selector(TableConfig(**table))(key) == rule


def test_partition_values_come_from_the_folders_only_and_are_decoded():
    key = "in/day=2026-05-01/shop=a%20b/day=later/file=x.json"
    assert parse_partition_values(key, ("day", "shop", "file", "absent")) == {
        "day": "2026-05-01",
        "shop": "a b",
        "file": None,
        "absent": None,
    }


def test_hives_default_partition_is_null():
    assert parse_partition_values("d=__HIVE_DEFAULT_PARTITION__/a.json", ("d",)) == {"d": None}


@pytest.mark.parametrize(
    ("path", "key", "rule"),
    [
        ("**", "../a.json", None),
        ("**", "in/./a.json", None),
        ("**/*.json", "a/../../b.json", None),
        ("in/*/a.json", "in/../a.json", None),
        ("../*.json", "../a.json", None),
        ("in/*.json", "in/../a.json", "path"),
        ("..", "ab", "path"),
        ("in/_", "in/.", "path"),
        ("in/[_]_", "in/..", "path"),
        ("**", "in/..\n", None),
        ("in/*", "in/.\n", None),
    ],
)
def test_dots_in_a_key_are_names_and_lead_nowhere(path, key, rule):
    assert build_selector(TableConfig(path=path, format="json"))(key) == rule
