from pathlib import Path

import pytest

from headwater.app.lineage.drawing import draw_mermaid
from headwater.app.lineage.graph import INDEX, build_lineage
from headwater.config.loader import parse_settings

TEXT = """
source: {type: s3, bucket: landing, prefix: shop/}
lake: lake
tables:
  orders:
    path: "orders/*.json"
    record_key: id
    ordering: at
    partition: day
    transform: [{name: "only \\"paid\\" #1", sql: "select * from input where paid"}, {drop: card}]
    checks: [{not_null: id}]
  index: {path: ["a/*.csv", "b/*.csv"]}
search: {table: orders, text: [title], where: in_stock}
"""


@pytest.fixture
def lineage(tmp_path: Path):
    return build_lineage(parse_settings(TEXT, tmp_path / "headwater.yaml", {}))


def test_nodes_are_in_dependency_order(lineage):
    names = [node.name for node in lineage.nodes]
    assert len(set(names)) == len(names)
    assert names[0] == "s3://landing/shop/"
    for edge in lineage.edges:
        assert names.index(edge.source) < names.index(edge.target), edge
    ways = [(edge.source, edge.target) for edge in lineage.edges]
    assert sorted(ways) == [
        ("chunks", INDEX),
        ("events", "index"),
        ("events", "orders"),
        ("events", "quarantine"),
        ("orders", "chunks"),
        ("s3://landing/shop/", "events"),
    ]


def test_rules_are_those_of_the_file(lineage):
    rules = {edge.target: dict(edge.rules) for edge in lineage.edges}
    assert rules["orders"] == {
        "path": "orders/*.json", "mode": "merge", "transform": 'only "paid" #1, drop', "checks": "not_null",
    }  # fmt: skip
    assert rules["index"] == {"path": "a/*.csv, b/*.csv", "mode": "append"}
    assert rules["chunks"] == {"text": "title", "where": "in_stock", "embedder": "wordllama"}
    columns = {node.name: node.columns for node in lineage.nodes}
    assert columns["orders"] == ("id", "at", "day")


def test_a_table_comes_from_the_one_that_it_is_built_from(tmp_path):
    text = """
source: {type: local, path: landing}
lake: lake
tables:
  gold: {from: silver, refresh: full, record_key: city}
  silver: {from: bronze, transform: [{drop: card}]}
  bronze: {path: "*.json"}
"""
    found = build_lineage(parse_settings(text, tmp_path / "headwater.yaml", {}))
    assert [node.name for node in found.nodes if node.kind == "table"] == ["bronze", "silver", "gold"]
    ways = {edge.target: (edge.source, dict(edge.rules)) for edge in found.edges}
    assert ways["silver"] == ("bronze", {"refresh": "changes", "transform": "drop"})
    assert ways["gold"] == ("silver", {"refresh": "full"})
    assert '-->|"refresh: full"|' in draw_mermaid(found)


def test_a_table_comes_from_all_tables_that_it_joins(tmp_path):
    text = """
source: {type: local, path: landing}
lake: lake
tables:
  joined:
    from: [orders, {hudi: "s3a://crm/people", as: people}]
    refresh: changed_keys
    record_key: id
    transform: [{sql: select p.id from people p join orders o on o.id = p.id}]
  people: {from: {hudi: "s3a://crm/people"}}
  orders: {path: "*.json"}
"""
    found = build_lineage(parse_settings(text, tmp_path / "headwater.yaml", {}))
    names = [node.name for node in found.nodes]
    assert names.count("s3a://crm/people") == 1
    assert [edge.source for edge in found.edges if edge.target == "joined"] == ["orders", "s3a://crm/people"]
    for edge in found.edges:
        assert names.index(edge.source) < names.index(edge.target), edge


def test_mermaid_quotation_marks_are_escaped_as_entities(lineage):
    lines = draw_mermaid(lineage).splitlines()
    assert lines[0] == "flowchart LR"
    assert '    n0[/"s3://landing/shop/"/]' in lines
    (orders,) = [line for line in lines if line.endswith("--> n2") or line.endswith("| n2")]
    assert "only #quot;paid#quot; #35;1, drop" in orders
    assert orders.count('"') == 2
