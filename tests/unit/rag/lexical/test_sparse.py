import pytest

from headwater.rag.field_value import FieldValue
from headwater.rag.lexical.sparse import (
    TRIGRAMS,
    WORDS,
    Bm25,
    SparseEncoder,
    build_vector,
    list_keywords,
)
from headwater.rag.lexical.sparse_vector import SparseVector


def weigh(vector: SparseVector, stem: str) -> float:
    (number,) = build_vector({stem: 1.0}).indices
    return dict(zip(vector.indices, vector.values, strict=True)).get(number, 0.0)


def test_a_word_in_the_title_weighs_more_than_one_in_the_body() -> None:
    words = SparseEncoder().encode_passage("red lamp\nblue shade")[WORDS]
    assert weigh(words, "lamp") > weigh(words, "shade") > 0
    assert weigh(words, "hat") == 0


def test_weights_are_bm25s() -> None:
    bm25 = Bm25(title=2, body=1, k1=1.2, b=0.4, title_length=8, body_length=60)
    words = SparseEncoder(bm25).encode_passage("lamp\nlamp lamp stand")[WORDS]
    tf = 2 * 1 / (0.6 + 0.4 * 1 / 8) + 2 / (0.6 + 0.4 * 3 / 60)
    assert weigh(words, "lamp") == pytest.approx(tf * 2.2 / (tf + 1.2))


def test_short_fields_are_found_by_their_words_and_numbers_are_not() -> None:
    encoder = SparseEncoder()
    fields: dict[str, FieldValue] = {
        "color": "Navy Blue",
        "price": 25.5,
        "tags": ["vegan", "new"],
        "page": "https://x.example/lamp",
    }
    words = encoder.encode_passage("lamp\ntext", fields)[WORDS]
    assert all(weigh(words, stem) > 0 for stem in ("navi", "blue", "vegan", "lamp"))
    assert list_keywords(fields) == ["Navy Blue", "vegan", "new"]
    assert encoder.encode_passage("lamp\ntext", {**fields, "price": 1}) == encoder.encode_passage(
        "lamp\ntext", fields
    )


def test_mistyped_words_share_letters_with_right_ones() -> None:
    encoder = SparseEncoder()
    passage = set(encoder.encode_passage("wireless headphones\nblack")[TRIGRAMS].indices)
    near = set(encoder.encode_spelling(["headphnes"]).indices)
    far = set(encoder.encode_spelling(["umbrella"]).indices)
    assert len(near & passage) >= 5
    assert len(far & passage) <= 1


def test_equal_text_has_equal_vectors_and_fingerprint_covers_settings() -> None:
    assert SparseEncoder().encode_passage("a b\nc") == SparseEncoder().encode_passage("a b\nc")
    assert SparseEncoder().fingerprint != SparseEncoder(Bm25(title=3)).fingerprint


def test_numbers_of_a_vector_are_distinct() -> None:
    vectors = SparseEncoder().encode_passage("lamp lamp\nlamp 10mm 10 mm", {"kind": "lamp"})
    for vector in vectors.values():
        assert len(set(vector.indices)) == len(vector.indices) == len(vector.values)
    assert SparseEncoder().encode_passage("")[WORDS] == SparseVector((), ())
