"""A row becomes text and fields."""

import math
from datetime import date, datetime, timezone
from decimal import Decimal

from headwater.config.search.index import ChunkConfig
from headwater.rag.chunk import build_chunk_id, hash_content, hash_fields, hash_terms, split_document
from headwater.rag.chunking import build_chunker
from headwater.rag.documents import DocumentRules, build_document

UTC = timezone.utc
RULES = DocumentRules({"description": 1.0, "title": 3.0, "notes": 1.0}, ("price", "when"))


def test_the_heaviest_column_stands_before_all_others() -> None:
    row = {"title": "Swim\nheadphones ", "description": "They swim.", "notes": None}
    document = build_document("k", row, RULES)
    assert document is not None
    assert (document.head, document.body) == ("Swim headphones", "They swim.")
    chunks = split_document(document, build_chunker(ChunkConfig()))
    assert chunks == ["Swim headphones\nThey swim."]


def test_every_chunk_begins_with_the_head() -> None:
    row = {"title": "Lamp", "description": "One sentence. " * 30}
    document = build_document("k", row, RULES)
    assert document is not None
    chunks = split_document(document, build_chunker(ChunkConfig(size=100)))
    assert len(chunks) > 3
    assert all(chunk.startswith("Lamp\nOne") for chunk in chunks)


def test_a_head_alone_is_a_chunk_and_a_long_head_is_body() -> None:
    alone = build_document("k", {"title": "Lamp"}, RULES)
    assert alone is not None
    assert split_document(alone, build_chunker(ChunkConfig())) == ["Lamp"]
    long = build_document("k", {"title": "word " * 100}, RULES)
    assert long is not None
    assert long.head == ""


def test_a_row_without_text_is_no_document() -> None:
    assert build_document("k", {"title": " \u200b\n", "description": None}, RULES) is None


def test_invisible_characters_do_not_reach_the_model() -> None:
    document = build_document("k", {"title": "a\u200bb\x00", "description": "e\u0301 x"}, RULES)
    assert document is not None
    assert (document.head, document.body) == ("ab", "\u00e9 x")


def test_fields_are_plain() -> None:
    names = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
    row = {
        "t": "x", "a": Decimal("1.50"), "b": date(2026, 1, 2), "c": datetime(2026, 1, 2, 3, tzinfo=UTC),
        "d": [1, None, "x"], "e": True, "f": math.nan, "g": None, "h": {"x": 1}, "i": 2**70, "j": 3,
    }  # fmt: skip
    document = build_document("k", row, DocumentRules({"t": 1.0}, names))
    assert document is not None
    assert document.fields == {
        "a": 1.5, "b": "2026-01-02", "c": "2026-01-02T03:00:00+00:00", "d": ["1", "x"], "e": True,
        "i": str(2**70), "j": 3,
    }  # fmt: skip


def test_hashes_distinguish_kinds_of_changes() -> None:
    assert hash_content("m", "x") != hash_content("n", "x") != hash_content("n", "y")
    content = hash_content("m", "x")
    # A price is no word to be found by, a colour is one.
    assert hash_terms(content, {"price": 1}) == hash_terms(content, {"price": 2})
    assert hash_terms(content, {"color": "red"}) != hash_terms(content, {"color": "blue"})
    assert hash_fields("{}", "a") != hash_fields("{}", None)


def test_a_chunk_keeps_its_id() -> None:
    assert build_chunk_id("k", 0) == build_chunk_id("k", 0) != build_chunk_id("k", 1)
    assert build_chunk_id("k1", 1) != build_chunk_id("k", 11)
