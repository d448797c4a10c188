import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.errors import UsageError
from tests.fixtures.search.scripted_server import HITS, answering

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


def test_each_query_is_written_with_its_rows(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    options = [*list_options(tmp_path), "--per-query", str(out), "--json"]
    done = CliRunner().invoke(app, ["index", "eval", *options], catch_exceptions=False)
    printed = json.loads(done.stdout)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert {(row["query_id"], row["run"]) for row in rows} == {
        (query, run) for query in ("a", "b") for run in printed["runs"]
    }
    for run, figures in printed["runs"].items():
        own = [row["ndcg@10"] for row in rows if row["run"] == run]
        assert sum(own) / len(own) == pytest.approx(figures["ndcg@10"], abs=1e-4)
    assert next(row["rows"][0] for row in rows if (row["query_id"], row["run"]) == ("b", "hybrid")) == "2"


def test_the_configured_search_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "headwater.yaml").write_text(
        "source: {type: local, path: in}\n"
        "lake: lake\n"
        "tables: {products: {path: '*.json', mode: mirror}}\n"
        "search:\n"
        "  table: products\n"
        "  text: [name]\n"
        "  embedder: {type: hashing, dimensions: 16}\n"
        "  retrieval: {ranking: rrf, correct_spelling: false}\n",
        "utf-8",
    )
    options = [*list_options(tmp_path), "--json"]
    printed = {}
    for name, more in (("default", []), ("configured", ["--configured"])):
        done = CliRunner().invoke(app, ["index", "eval", *options, *more], catch_exceptions=False)
        printed[name] = json.loads(done.stdout)["runs"]
    # The default corrects "lmap"; ranks fused without it find the words as typed.
    assert printed["default"]["hybrid"]["ndcg@10"] == 1.0
    assert printed["configured"]["hybrid"] == printed["configured"]["rrf-60"]
    text = (
        (tmp_path / "headwater.yaml")
        .read_text("utf-8")
        .replace("{type: hashing, dimensions: 16}", "{model: other}")
    )
    (tmp_path / "headwater.yaml").write_text(text, "utf-8")
    done = CliRunner().invoke(app, ["index", "eval", *options, "--configured"])
    assert (done.exit_code != 0, "does not contain 'other'" in f"{done.output}{done.exception}") == (
        True,
        True,
    )


def test_people_get_a_table(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["index", "eval", *list_options(tmp_path)], catch_exceptions=False)
    assert "nDCG@10" in done.stdout
    assert "Chosen: hybrid" in done.stdout


def test_a_running_server_is_evaluated_without_a_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = [*QUERIES, {"query_id": "c", "query": "kettle", "split": "tuning"}]
    judgements = [{"query_id": query["query_id"], "product_id": 7, "grade": "E"} for query in queries]
    out = tmp_path / "out.jsonl"
    options = [
        "--queries", write(tmp_path / "q.jsonl", queries),
        "--judgements", write(tmp_path / "j.jsonl", judgements),
        "--per-query", str(out),
    ]  # fmt: skip
    monkeypatch.setenv("HEADWATER_API_KEY", "secret")
    with answering((200, "", HITS), (422, "", ""), (200, "", HITS)) as (server, address):
        done = CliRunner().invoke(app, ["index", "eval", *options, "--url", address, "--json"])
        text = CliRunner().invoke(app, ["index", "eval", *options, "--url", address])
    assert {path: key for path, key, _ in server.requests} == {"/search": "Bearer secret"}
    assert [body["query"] for _, _, body in server.requests] == ["desk lmap", "hose"] * 2
    found = json.loads(done.stdout)["runs"]
    assert list(found) == ["server"]
    assert (found["server"]["ndcg@10"], found["server"]["zero_result_rate"]) == (0.5, 0.5)
    rows = {row["query_id"]: row["rows"] for row in map(json.loads, out.read_text("utf-8").splitlines())}
    assert rows == {"a": ["7", "p2"], "b": ["7", "p2"]}
    assert text.stdout.startswith("2 queries (held-out)")
    assert "Chosen" not in text.stdout


@pytest.mark.parametrize("more", [["--configured"], ["--catalogue", "c.jsonl"]])
def test_a_server_answers_with_its_own_configuration_and_rows(more: list[str]) -> None:
    done = CliRunner().invoke(app, ["index", "eval", "--url", "http://127.0.0.1:1", *more])
    assert done.exit_code == 2
    assert "--url" in done.stderr


def test_files_belong_together(tmp_path: Path) -> None:
    options = list_options(tmp_path)
    for words in (options[:2], [*options, "--wands", str(tmp_path)]):
        done = CliRunner().invoke(app, ["index", "eval", *words], standalone_mode=False)
        assert isinstance(done.exception, (UsageError, SystemExit))
        assert done.exit_code != 0
