"""A store that is down, refuses, or is in use: one sentence that says what to do."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from headwater.errors import IndexUnavailableError, SearchError
from headwater.rag.vector_stores.qdrant import QdrantStore
from headwater.rag.vector_stores.qdrant_edge import EdgeVectorStore

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


def test_a_folder_in_use_names_its_user_and_the_way_out(tmp_path: Path) -> None:
    store = EdgeVectorStore(tmp_path, "shop")
    code = (
        "import sys; from pathlib import Path\n"
        "from headwater.rag.vector_stores.qdrant_edge import EdgeVectorStore\n"
        "from headwater.errors import IndexUnavailableError\n"
        "try: EdgeVectorStore(Path(sys.argv[1]), 'shop')\n"
        "except IndexUnavailableError as error: print(error.message, '|', error.hint)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "in use by process" in said
    assert "serve" in said
    store.close()
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == ""


def test_corrupt_folder_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "shop" / "v0001" / "shard").mkdir(parents=True)
    spec = '{"dimensions": 4, "sparse_names": [], "fingerprint": "f", "filtered": {}}'
    (tmp_path / "shop" / "v0001" / "spec.json").write_text(spec)
    store = EdgeVectorStore(tmp_path, "shop")
    with pytest.raises(SearchError, match="cannot use the index in") as caught:
        store.open("v0001")
    assert "index build" in caught.value.hint
    store.close()
