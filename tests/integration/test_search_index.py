"""A folder of products becomes an index, by commands alone."""

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.app.roles import choose_roles
from headwater.app.services.writer_lease import hold_for_run
from headwater.config.loader import load_settings
from headwater.observability.crash_points import CRASH_POINT_VARIABLE
from tests.fixtures.end_to_end.command import Finished, run_command
from tests.fixtures.search.served_lake import run_serve
from tests.fixtures.waiting import wait_until

pytestmark = pytest.mark.slow

PRODUCTS: list[dict[str, Any]] = [
    {"sku": "a", "title": "Swimming headphones", "description": "Made for lanes. " * 20, "price": 59.0},
    {"sku": "b", "title": "Desk lamp", "description": "Warm light.", "price": 19.0},
]


class Shop:
    """A configuration and a folder of files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "landing").mkdir()
        self.configure()

    def configure(self, **search: Any) -> None:
        section = {"table": "products", "text": ["title", "description"], "id": "sku", **search}
        self.write_config(search=section)

    def write_config(self, **sections: Any) -> None:
        settings = {
            "source": {"type": "local", "path": str(self.folder / "landing")},
            "lake": str(self.folder / "lake"),
            "tables": {"products": {"path": "*.json", "mode": "mirror"}},
            **sections,
        }
        (self.folder / "headwater.yaml").write_text(json.dumps(settings))

    def put(self, *products: dict[str, Any]) -> None:
        text = "".join(json.dumps(product) + "\n" for product in products)
        (self.folder / "landing" / "all.json").write_text(text)

    def say(self, *words: str, codes: tuple[int, ...] = (0,)) -> Any:
        """What a command prints as JSON; of a failed one what it says on stderr."""
        done: Finished = run_command(*words, "--json", folder=self.folder, timeout=200)
        done.expect(*codes)
        return json.loads(done.stderr.splitlines()[-1] if done.exit_code else done.stdout)

    def kill(self, crash_point: str) -> Finished:
        """A run that kills itself there, with all that it has started."""
        environ = {**os.environ, CRASH_POINT_VARIABLE: crash_point}
        return run_command("run", "--once", folder=self.folder, environ=environ, timeout=200)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_from_files_to_versions_of_an_index(shop: Shop) -> None:
    assert "index build" in shop.say("index", "sync", codes=(2,))["hint"]
    shop.put(*PRODUCTS)
    shop.say("run", "--once")
    assert shop.say("index", "sync")["sync"]["upserted"] == 2
    status = shop.say("index", "status", "--compare")
    assert (status["live"], status["lag_seconds"], status["divergence_rows"]) == ("v0001", 0, 0)
    assert (status["embedded"], status["versions"][0]["points"]) == (2, 2)

    # Another size of chunks: chunks first, then a version beside the live one.
    shop.configure(chunk={"size": 80})
    built = shop.say("index", "build")
    assert (built["build"]["version"], built["build"]["is_live"]) == ("v0002", True)
    assert built["indexed"]["embedded"] == built["build"]["points"] > 2
    assert shop.say("index", "rollback") == {"live": "v0001"}
    assert "no older version" in shop.say("index", "rollback", codes=(2,))["message"]
    versions = {one["name"]: one["is_as_configured"] for one in shop.say("index", "status")["versions"]}
    assert versions == {"v0001": False, "v0002": True}

    # The index is only a copy: without it nothing is embedded, and no JVM is needed.
    shutil.rmtree(shop.folder / "lake" / "_headwater" / "index")
    rebuilt = shop.say("index", "build")
    assert (rebuilt["indexed"], rebuilt["build"]["points"]) == (None, built["build"]["points"])


def test_during_a_run_build_uses_existing_chunks(shop: Shop) -> None:
    shop.put(*PRODUCTS)
    shop.say("run", "--once")
    # A table that is ahead of its chunks, as it is for seconds while somebody runs.
    shop.write_config()
    shop.put(*PRODUCTS, {"sku": "c", "title": "Desk fan", "description": "Quiet."})
    shop.say("run", "--once")
    shop.configure()
    settings = load_settings(shop.folder / "headwater.yaml")
    with hold_for_run(settings, choose_roles(settings), threading.Event(), once=True):
        built = shop.say("index", "build")
        assert (built["indexed"], built["build"]["points"], built["build"]["is_live"]) == (None, 2, True)
        # There are none of this size yet, and the one who writes does not make them.
        shop.configure(chunk={"size": 80})
        assert "being written by run" in shop.say("index", "build", codes=(1,))["message"]
    shop.configure()
    assert shop.say("index", "build")["build"]["points"] == 3


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_run_killed_around_its_chunks_commit_embeds_nothing_twice_and_the_index_is_the_table(
    shop: Shop,
) -> None:
    shop.put(*PRODUCTS)
    # Dies before the commit: its vectors are lost with it, and made again.
    assert shop.kill("before_chunks_commit").was_killed
    assert shop.say("index", "status", "--compare")["live"] is None
    # Dies behind it: these two products are embedded, and known to be.
    assert shop.kill("after_chunks_commit").was_killed
    assert shop.say("index", "sync")["sync"]["upserted"] == 2
    # A price, a text, a new and a removed product, in a run that dies and one that does not.
    changed = [PRODUCTS[0] | {"price": 49.0}, {"sku": "c", "title": "Desk fan", "description": "Quiet."}]
    shop.put(*changed)
    assert shop.kill("after_chunks_commit").was_killed
    shop.say("run", "--once")
    status = shop.say("index", "sync")["sync"]
    assert (status["upserted"], status["fields_set"], status["deleted"]) == (1, 1, 1)
    status = shop.say("index", "status", "--compare")
    assert (status["divergence_rows"], status["lag_seconds"], status["embedded"]) == (0, 0, 3)
    shop.say("run", "--once")
    assert shop.say("index", "status", "--compare")["embedded"] == 3


def test_versions_are_built_shown_and_rolled_back_while_a_server_answers(shop: Shop) -> None:
    shop.put(*PRODUCTS)
    shop.say("run", "--once")
    with run_serve(shop.folder / "headwater.yaml") as address:

        def find_version() -> str:
            found = httpx.post(f"{address}/search", json={"query": "swimming headphones"}, timeout=30).json()
            assert found["hits"][0]["id"] == "a"
            return str(found["index_version"])

        assert find_version() == "v0001"
        assert shop.say("index", "build")["build"]["version"] == "v0002"
        wait_until(lambda: find_version() == "v0002")
        status = shop.say("index", "status")
        assert status["live"] == "v0002"
        assert [(one["name"], one["points"]) for one in status["versions"]] == [("v0001", 2), ("v0002", 2)]
        assert shop.say("index", "rollback") == {"live": "v0001"}
        wait_until(lambda: find_version() == "v0001")
        # What the server does itself is rejected with the reason.
        assert "in use by process" in shop.say("index", "sync", codes=(1,))["message"]
    assert shop.say("index", "status", "--compare")["divergence_rows"] == 0


@pytest.mark.long
def test_missing_column_and_section_errors_have_next_step(shop: Shop) -> None:
    shop.configure(text=["name"], where="price > 1")
    shop.put(*PRODUCTS)
    done = run_command("run", "--once", "--json", folder=shop.folder, timeout=200).expect(1)
    # The table is there: only its index is not.
    assert json.loads(done.stdout)["tables"]["products"]["rows"] == 2
    said = json.loads(done.stderr.splitlines()[-1])
    assert "no column 'name'" in said["message"]
    assert "title" in said["hint"]
    plain = json.loads((shop.folder / "headwater.yaml").read_text())
    del plain["search"]
    (shop.folder / "headwater.yaml").write_text(json.dumps(plain))
    assert "search:" in shop.say("index", "status", codes=(2,))["message"]
