"""What every embedder does, run on every one that can run here; an endpoint as a real server."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import numpy as np
import pytest

from headwater.config.search.index import EmbedderConfig
from headwater.errors import (
    ConfigError,
    EmbedderUnavailableError,
    HeadwaterError,
    MissingExtraError,
    SearchError,
)
from headwater.rag.embedding import Embedder, build_embedder
from headwater.rag.embedding.openai import OpenAIEmbedder
from headwater.rag.embedding.vectors import iter_batches

KEY = "sk-canary-of-the-test"
TEXTS = ["red running shoes", "a green garden hose", "stainless steel kettle"]


@dataclass
class Endpoint:
    """Speaks OpenAI's protocol; its vectors are those of the hashing embedder, three times as long.

    `statuses` are answered first, one a request.
    """

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    requests: list[dict[str, object]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    shuffled: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: dict[str, object], key: str) -> tuple[int, dict[str, object]]:
        with self.lock:
            self.requests.append(request)
            self.keys.append(key)
            if self.statuses:
                return self.statuses.pop(0), {"error": {"message": f"refused {key}"}}
        texts = request["input"]
        assert isinstance(texts, list)
        vectors = 3 * build_embedder(EmbedderConfig(type="hashing", dimensions=32), {}).embed_queries(texts)
        data = [
            {"object": "embedding", "index": number, "embedding": vector.tolist()}
            for number, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        data = data[::-1] if self.shuffled else data
        return 200, {"object": "list", "model": "m", "data": data, "usage": usage}


@contextmanager
def run_endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = endpoint.answer(body, self.headers.get("Authorization", ""))
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with run_endpoint() as running:
        yield running


Build = Callable[..., Embedder]


@pytest.fixture(params=["hashing", "wordllama", "openai", "sentence_transformers", "fastembed"])
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    kind = request.param
    if kind in ("sentence_transformers", "fastembed"):
        if find_spec(kind) is None:
            pytest.skip(f"the extra {kind} is not installed")
        try:
            build_embedder(EmbedderConfig(type=kind), {})
        except SearchError as error:
            pytest.skip(f"its model cannot be fetched here: {error.message}")
    if kind != "openai":
        yield lambda **options: build_embedder(EmbedderConfig(type=kind, **options), {})
        return
    built: list[OpenAIEmbedder] = []

    def build_openai(**options: object) -> Embedder:
        built.append(build_remote(running, **options))
        return built[-1]

    with run_endpoint() as running:
        yield build_openai
        for one in built:
            one.close()


def test_vectors_have_the_declared_dimensions_and_unit_length(build: Build) -> None:
    embedder = build()
    for vectors in (embedder.embed_passages(TEXTS), embedder.embed_queries(TEXTS)):
        assert vectors.shape == (3, embedder.dimensions)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)


def test_no_texts_give_no_vectors(build: Build) -> None:
    embedder = build()
    assert embedder.embed_passages([]).shape == (0, embedder.dimensions)


def test_text_without_words_is_zeros_and_affects_no_other_text(build: Build) -> None:
    embedder = build()
    vectors = embedder.embed_passages(["", TEXTS[0], " \u200b\n", "?!"])
    assert not vectors[[0, 2, 3]].any()
    assert vectors[1] == pytest.approx(embedder.embed_passages(TEXTS[:1])[0], abs=1e-5)


def test_the_same_text_has_the_same_vector_in_any_batch(build: Build) -> None:
    texts = [f"{text} number {number} " * (1 + number % 7) for number in range(5) for text in TEXTS]
    whole, small = build().embed_passages(texts), build(batch_size=2).embed_passages(texts)
    assert whole == pytest.approx(small, abs=1e-5)
    alone = np.concatenate([build().embed_passages([text]) for text in texts[:3]])
    assert whole[:3] == pytest.approx(alone, abs=1e-5)


def test_like_texts_are_near(build: Build) -> None:
    embedder = build()
    query = embedder.embed_queries(["green hose for the garden"])[0]
    assert int(np.argmax(embedder.embed_passages(TEXTS) @ query)) == 1


def test_invisible_characters_do_not_change_a_vector(build: Build) -> None:
    plain, hidden = build().embed_passages(["garden hose", "gar\u200bden\u2060 ho\u00adse"])
    assert plain == pytest.approx(hidden, abs=1e-5)


def test_prefixes_change_vectors_and_the_name(build: Build) -> None:
    plain, marked = build(), build(query_prefix="query: ", passage_prefix="passage: ")
    assert plain.name != marked.name
    assert not np.allclose(plain.embed_queries(TEXTS), marked.embed_queries(TEXTS))
    assert not np.allclose(marked.embed_passages(TEXTS), marked.embed_queries(TEXTS))


def test_shorter_vectors_have_length_one_and_another_name(build: Build) -> None:
    short = build(dimensions=16)
    assert short.dimensions == 16
    assert short.name != build().name
    assert np.linalg.norm(short.embed_passages(TEXTS), axis=1) == pytest.approx([1, 1, 1], abs=1e-5)


def test_the_name_is_the_same_for_the_same_settings(build: Build) -> None:
    assert build().name == build().name
    assert str(build().dimensions) in build().name


def test_texts_that_are_too_long_are_embedded_and_counted(build: Build) -> None:
    embedder = build()
    texts = ["short", "garden hose " * 20_000]
    assert embedder.embed_passages(texts).any(axis=1).all()
    expected = 0 if embedder.name.startswith("hashing") else 1
    assert embedder.count_truncated(texts) == expected


def test_odd_texts_are_embedded(build: Build) -> None:
    texts = ["\ud800 lone half", "\x00\x01 bytes", "\u65e5\u672c\u8a9e", "a" * 5_000]
    assert np.isfinite(build().embed_passages(texts)).all()


def test_threads_share_one(build: Build) -> None:
    embedder = build()
    expected = embedder.embed_passages(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: embedder.embed_passages(TEXTS), range(12)):
            assert vectors == pytest.approx(expected, abs=1e-5)


def build_remote(endpoint: Endpoint, **options: object) -> OpenAIEmbedder:
    config = {"type": "openai", "endpoint": endpoint.url, "model": "m", **options}
    embedder = build_embedder(EmbedderConfig.model_validate(config), {"HEADWATER_EMBEDDING_API_KEY": KEY})
    assert isinstance(embedder, OpenAIEmbedder)
    return embedder


def test_an_endpoint_is_asked_in_batches_with_the_key(endpoint: Endpoint) -> None:
    endpoint.shuffled = True
    embedder = build_remote(endpoint, batch_size=2, dimensions=32)
    vectors = embedder.embed_passages(TEXTS)
    assert [request["input"] for request in endpoint.requests] == [TEXTS[:2], TEXTS[2:]]
    assert set(endpoint.keys) == {f"Bearer {KEY}"}
    hashed = build_embedder(EmbedderConfig(type="hashing", dimensions=32), {}).embed_passages(TEXTS)
    assert vectors == pytest.approx(hashed, abs=1e-5)
    embedder.close()


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_an_endpoint_that_is_busy_is_asked_again(endpoint: Endpoint, status: int) -> None:
    endpoint.statuses = [status, status]
    embedder = build_remote(endpoint, dimensions=32)
    assert embedder.embed_queries(["hose"]).any()
    assert len(endpoint.requests) == 3
    embedder.close()


@pytest.mark.parametrize(
    ("status", "expected", "requests"),
    [(503, EmbedderUnavailableError, 4), (401, SearchError, 1), (404, SearchError, 1), (400, SearchError, 1)],
)
def test_an_endpoint_that_refuses_is_named_and_the_key_is_not(
    endpoint: Endpoint, status: int, expected: type[SearchError], requests: int
) -> None:
    endpoint.statuses = [status] * 10
    embedder = build_remote(endpoint, dimensions=32)
    with pytest.raises(expected) as caught:
        embedder.embed_queries(["hose"])
    assert type(caught.value) is expected
    assert str(status) in caught.value.message
    assert KEY not in str(caught.value)
    assert caught.value.hint
    assert len(endpoint.requests) == requests
    embedder.close()


def test_an_endpoint_that_is_not_there_may_be_asked_later() -> None:
    gone = Endpoint("http://127.0.0.1:1/v1")
    embedder = build_remote(gone, dimensions=32, timeout=1)
    with pytest.raises(EmbedderUnavailableError) as caught:
        embedder.embed_queries(["hose"])
    assert caught.value.retryable
    embedder.close()


def test_vectors_shorter_than_configured_are_rejected(endpoint: Endpoint) -> None:
    embedder = build_remote(endpoint, dimensions=64)
    with pytest.raises(SearchError, match="32"):
        embedder.embed_queries(["hose"])
    embedder.close()


def test_an_endpoint_needs_an_address_and_a_model() -> None:
    with pytest.raises(ConfigError) as caught:
        build_embedder(EmbedderConfig(type="openai"), {})
    assert {line.split(":")[0] for line in caught.value.message.splitlines()} == {
        "search.embedder.endpoint",
        "search.embedder.model",
    }


@pytest.mark.parametrize("kind", ["sentence_transformers", "fastembed"])
def test_a_missing_extra_is_named(kind: str) -> None:
    if find_spec(kind) is not None:
        pytest.skip(f"the extra {kind} is installed")
    with pytest.raises(MissingExtraError) as caught:
        build_embedder(EmbedderConfig.model_validate({"type": kind}), {})
    assert f"headwater[{kind.replace('_', '-')}]" in caught.value.hint


def test_wordllama_has_only_its_own_model() -> None:
    with pytest.raises(HeadwaterError, match="no-such"):
        build_embedder(EmbedderConfig(model="no-such"), {})


def test_batches_hold_all_texts_within_both_limits() -> None:
    texts = ["x" * length for length in (5, 900, 10, 40, 1, 300)]
    batches = list(iter_batches(texts, 3, 100))
    assert sorted(number for batch in batches for number in batch) == list(range(6))
    for batch in batches:
        assert len(batch) <= 3
        assert len(batch) == 1 or len(batch) * max(len(texts[number]) for number in batch) <= 100


def test_the_default_embedder_leaves_the_logging_of_the_program_as_it_is() -> None:
    # The package configures the root logger when it is imported, so a process of its own imports it.
    program = (
        "import logging\n"
        "from headwater.config.search.index import EmbedderConfig\n"
        "from headwater.rag.chunking.tokens import TokenChunker\n"
        "from headwater.rag.embedding.wordllama import WordLlamaEmbedder\n"
        "TokenChunker(10, 0).split('one two')\n"
        "assert WordLlamaEmbedder(EmbedderConfig()).embed_queries(['one two']).shape == (1, 256)\n"
        "assert (logging.root.handlers, logging.root.level) == ([], logging.WARNING)\n"
        "logging.getLogger('mine').info('not shown')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
