"""What every chunker does."""

from itertools import pairwise

import pytest

from headwater.config.search.index import ChunkConfig
from headwater.errors import SearchError
from headwater.rag.chunking import Chunker, build_chunker

PROSE = "The first sentence is here. Another one follows it.\n\n" * 20
MARKDOWN = "# Title\n\nSome text here.\n\n## Part\n\n- one\n- two\n\n" * 12
CODE = "def first(value):\n    return value + 1\n\n\n" * 15


@pytest.fixture(params=["characters", "tokens", "markdown", "code"])
def chunker(request: pytest.FixtureRequest) -> Chunker:
    return build_chunker(ChunkConfig(by=request.param, size=80))


@pytest.mark.parametrize("text", [PROSE, MARKDOWN, CODE, "x" * 1_000, "ü" * 300])
def test_pieces_keep_all_words_in_order_and_fit(chunker: Chunker, text: str) -> None:
    pieces = chunker.split(text)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece.strip() for piece in pieces)
    assert len(pieces) > 1
    assert pieces == chunker.split(text)


@pytest.mark.parametrize("text", ["", "  \n "])
def test_nothing_gives_nothing(chunker: Chunker, text: str) -> None:
    assert chunker.split(text) == []


def test_a_text_that_fits_is_one_piece(chunker: Chunker) -> None:
    assert chunker.split("short text") == ["short text"]


@pytest.mark.parametrize("by", ["characters", "markdown", "code"])
def test_characters_are_counted(by: str) -> None:
    pieces = build_chunker(ChunkConfig.model_validate({"by": by, "size": 80})).split(PROSE)
    assert max(map(len, pieces)) <= 80


def test_overlap_repeats_the_end_of_the_piece_before() -> None:
    words = " ".join(f"w{number:03}" for number in range(200))
    pieces = build_chunker(ChunkConfig(size=60, overlap=20)).split(words)
    for before, after in pairwise(pieces):
        assert after.split()[0] in before.split()


def test_markdown_is_cut_at_headings() -> None:
    pieces = build_chunker(ChunkConfig(by="markdown", size=60)).split(MARKDOWN)
    assert sum(piece.startswith("#") for piece in pieces) >= 12


def test_a_language_without_grammar_is_named() -> None:
    with pytest.raises(SearchError, match="klingon") as caught:
        build_chunker(ChunkConfig(by="code", language="klingon"))
    assert "pip install tree-sitter-klingon" in caught.value.hint
