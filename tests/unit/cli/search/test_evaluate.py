import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.errors import UsageError

PRODUCTS = [
    {"id": 1, "name": "Red desk lamp", "text": "Bright.", "color": "red"},
    {"id": 2, "name": "Garden hose", "text": "Long."},
    {"id": 3, "name": "Kettle", "text": "Boils water."},
]
QUERIES = [{"query_id": "a", "query": "desk lmap"}, {"query_id": "b", "query": "hose"}]
JUDGEMENTS = [
    {"query_id": "a", "product_id": 1, "grade": "E"},
    {"query_id": "b", "product_id": 2, "grade": 2},
]


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def list_options(folder: Path) -> list[str]:
    return [
        "--catalogue", write(folder / "c.jsonl", PRODUCTS),
        "--queries", write(folder / "q.jsonl", QUERIES),
        "--judgements", write(folder / "j.jsonl", JUDGEMENTS),
    ]  # fmt: skip


def test_a_catalogue_of_ones_own_is_evaluated_without_any_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        app, ["index", "eval", *list_options(tmp_path), "--json"], catch_exceptions=False
    )
    printed = json.loads(done.stdout)
    assert done.exit_code == 0
    assert set(printed["runs"]) >= {"bm25", "dense", "hybrid", "rrf-2", "rrf-20", "rrf-60", "dbsf"}
    hybrid = printed["runs"]["hybrid"]
    assert (hybrid["ndcg@10"], hybrid["recall@20"], hybrid["mrr"]) == (1.0, 1.0, 1.0)
    assert len(hybrid["interval"]) == 2
    assert printed["chosen"] == "hybrid"


def test_people_get_a_table(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["index", "eval", *list_options(tmp_path)], catch_exceptions=False)
    assert "nDCG@10" in done.stdout
    assert "Chosen: hybrid" in done.stdout


def test_files_belong_together(tmp_path: Path) -> None:
    options = list_options(tmp_path)
    for words in (options[:2], [*options, "--wands", str(tmp_path)]):
        done = CliRunner().invoke(app, ["index", "eval", *words], standalone_mode=False)
        assert isinstance(done.exception, (UsageError, SystemExit))
        assert done.exit_code != 0
