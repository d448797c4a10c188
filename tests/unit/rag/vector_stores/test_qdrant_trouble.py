"""A store that is down, refuses, or is in use: one sentence that says what to do."""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from headwater.errors import IndexUnavailableError, SearchError
from headwater.rag.vector_stores.protocol import Checkpoint, VersionState
from headwater.rag.vector_stores.qdrant import QdrantStore
from headwater.rag.vector_stores.qdrant_edge import folder
from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore
from tests.fixtures.search.points import SPEC, make_point

SEEN: list[tuple[str, str | None]] = []


class Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        SEEN.append((self.path, self.headers.get("api-key")))
        self.send_response(503 if self.headers.get("api-key") == "good" else 403)
        self.end_headers()
        self.wfile.write(b'{"status": {"error": "said the server"}}')

    def log_request(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Refusing) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_rejected_key_and_broken_server_are_distinguished(server: str) -> None:
    store = QdrantStore.connect(server, "shop", api_key="bad", prefer_grpc=False)
    with pytest.raises(SearchError, match=r"403.*said the server") as caught:
        store.list_versions()
    assert "HEADWATER_QDRANT_API_KEY" in caught.value.hint
    assert not caught.value.retryable
    assert "bad" not in str(caught.value)
    store.close()
    store = QdrantStore.connect(server, "shop", api_key="good", prefer_grpc=False)
    with pytest.raises(IndexUnavailableError, match="503"):
        store.find_live()
    store.close()
    assert SEEN[-1] == ("/aliases", "good")


@pytest.mark.parametrize("prefer_grpc", [False, True])
def test_a_server_that_is_down_is_a_passing_trouble(prefer_grpc: bool) -> None:
    with HTTPServer(("127.0.0.1", 0), Refusing) as free:
        port = free.server_port
    store = QdrantStore.connect(f"http://127.0.0.1:{port}", "shop", api_key=None, prefer_grpc=prefer_grpc)
    with pytest.raises(IndexUnavailableError, match="does not respond") as caught:
        store.list_versions()
    assert "search.store.url" in caught.value.hint
    store.close()


def test_a_version_in_use_names_its_user_and_what_works(tmp_path: Path) -> None:
    store = EdgeVectorStore(tmp_path, "shop")
    store.create("v0001", SPEC)
    code = (
        "import sys; from pathlib import Path\n"
        "from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore\n"
        "from headwater.errors import IndexUnavailableError\n"
        "try: EdgeVectorStore(Path(sys.argv[1]), 'shop').open('v0001')\n"
        "except IndexUnavailableError as error: print(error.message, '|', error.hint)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"version v0001 of the index in {tmp_path / 'shop'} is in use by process {os.getpid()}" in said
    assert "serve" in said
    store.release("v0001")
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == ""
    store.close()


def test_a_folder_that_an_older_release_has_open_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "LOCK_SECONDS", 0.1)
    EdgeVectorStore(tmp_path, "shop").create("v0001", SPEC)
    with (tmp_path / "shop" / "lock").open("w") as lock:
        lock.write("4711")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(IndexUnavailableError, match="in use by process 4711"):
            EdgeVectorStore(tmp_path, "shop").open("v0001")


def test_state_of_a_version_that_is_open_elsewhere_is_that_of_its_last_checkpoint(tmp_path: Path) -> None:
    owner, reader = EdgeVectorStore(tmp_path, "shop"), EdgeVectorStore(tmp_path, "shop")
    index = owner.create("v0001", SPEC)
    index.upsert([make_point("a"), make_point("b")])
    assert reader.read_state("v0001") == VersionState(SPEC, None, 0)
    checkpoint = Checkpoint("p", 1, "2026-01-01T00:00:00Z")
    index.write_checkpoint(checkpoint, None)
    assert reader.read_state("v0001") == VersionState(SPEC, checkpoint, 2)
    # A state that cannot be read, as after a power failure, is read from the version itself.
    (tmp_path / "shop" / "v0001" / "state.json").write_text("")
    owner.close()
    assert reader.read_state("v0001") == VersionState(SPEC, checkpoint, 2)
    reader.close()


def test_corrupt_folder_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "shop" / "v0001" / "shard").mkdir(parents=True)
    spec = '{"dimensions": 4, "sparse_names": [], "fingerprint": "f", "filtered": {}}'
    (tmp_path / "shop" / "v0001" / "spec.json").write_text(spec)
    store = EdgeVectorStore(tmp_path, "shop")
    with pytest.raises(SearchError, match="cannot use the index in") as caught:
        store.open("v0001")
    assert "index build" in caught.value.hint
    store.close()
