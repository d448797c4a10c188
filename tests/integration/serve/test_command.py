"""`headwater serve` as a process: answers from the index that it has, and what the how-to shows works."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.fixtures.free_port import find_free_port
from tests.fixtures.search.api import parse_events
from tests.fixtures.search.served_lake import ServedLake, is_answering, run_serve
from tests.fixtures.waiting import wait_until

SWIM = {"query": "headphones for swimming"}
HOW_TO = (Path(__file__).parents[3] / "docs/how-to/serve.md").read_text("utf-8")
EXAMPLES = re.findall(r"^curl .*?(?:\n  .*?)*$", HOW_TO, re.MULTILINE)
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", HOW_TO, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    lake = ServedLake(tmp_path_factory.mktemp("lake"))
    lake.configure(
        language_model={"type": "scripted"},
        answer={"currency": "EUR"},
        page={"facts": ["color"], "examples": ["a mug"]},
    )
    lake.fill()
    with run_serve(lake.config) as found:
        yield found
    said = lake.config.with_suffix(".log").read_text("utf-8")
    assert "serving index v0001 (4 chunks) on http://127.0.0.1:" in said
    assert "Traceback" not in said


def test_it_answers_from_the_last_good_index_while_the_lake_is_away(address):
    found = httpx.post(f"{address}/search", json=SWIM).json()
    assert {"p1", "p2"} <= {hit["id"] for hit in found["hits"][:3]}
    assert found["lag_seconds"] is None
    ready = httpx.get(f"{address}/readyz")
    assert ready.status_code == 503
    assert "age of the index is unknown" in ready.json()["reason"]
    status = httpx.get(f"{address}/status").json()
    assert status["index_error"]
    assert str(Path(__file__).anchor + "tmp") not in json.dumps(status["index_error"])


def test_an_answer_is_worded_and_streamed(address):
    answer = httpx.post(f"{address}/recommend", json={**SWIM, "stream": True})
    events = parse_events(answer.text)
    assert events[-1][1]["mode"] == "llm"
    assert "SwimPro X1" in events[-1][1]["message"]


def test_the_page_shows_the_configured_columns(address):
    assert httpx.get(f"{address}/page/setup").json()["examples"] == ["a mug"]
    cards = {card["id"]: card for card in httpx.post(f"{address}/page/search", json=SWIM).json()["cards"]}
    shown = {key: cards["p1"][key] for key in ("title", "price", "currency", "facts")}
    facts = [{"name": "color", "value": "black"}]
    assert shown == {"title": "SwimPro X1", "price": 49.9, "currency": "EUR", "facts": facts}


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_how_to_work(address, example):
    command = example.replace("http://127.0.0.1:8080", address).replace(
        "curl ", "curl --fail-with-body --max-time 20 ", 1
    )
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    if "readyz" in example:  # the lake of this test is away
        assert json.loads(done.stdout)["ready"] is False
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


def test_the_program_of_the_how_to_prints_an_answer(address, capsys):
    (program,) = PROGRAMS
    exec(compile(program.replace("http://127.0.0.1:8080", address), "serve.md", "exec"), {})
    assert "SwimPro" in capsys.readouterr().out


WORKERS = """
import sys
from pathlib import Path
from headwater.config.loader import load_settings
from headwater.serve import launch

config, port = Path(sys.argv[1]), int(sys.argv[2])
overrides = {"search.serve.max_query_characters": "20"}
settings = load_settings(config, overrides=overrides)
launch.serve_with_workers(launch.bind("127.0.0.1", port), 1, settings, config, overrides)
"""


def test_a_worker_finds_its_configuration_and_ends_with_the_process_above_it(tmp_path):
    # One worker: a store in a folder is for one process. A Qdrant server takes as many as one likes.
    lake = ServedLake(tmp_path)
    lake.configure(serve={"sync_interval": "off"})
    lake.fill()
    port = find_free_port()
    words = [sys.executable, "-c", WORKERS, str(lake.config), str(port)]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until(lambda: is_answering(address), "an answer", 90)
            assert httpx.post(f"{address}/search", json={"query": "swimming"}).json()["hits"]
            # `--set` reaches the worker, too.
            assert (
                httpx.post(f"{address}/search", json={"query": "x" * 21}).json()["code"] == "query_too_long"
            )
        finally:
            process.terminate()
        assert process.wait(30) == 0, (tmp_path / "log").read_text("utf-8")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz")
