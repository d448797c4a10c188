import pytest

from headwater.rag.lexical.passage_stems import (
    PassageStems,
    parse_stems,
    read_stems,
    split_title,
    write_stems,
)


def test_a_single_line_is_all_body() -> None:
    assert split_title("only line") == ("", "only line")
    assert split_title("title\nbody\nmore") == ("title", "body\nmore")


def test_related_product_is_not_the_name() -> None:
    stems = read_stems("Leather case for cameras\nFits all small cameras")
    assert stems.name.split() == ["leather", "case"]
    assert stems.related.split() == ["camera"]
    assert stems.body.split() == ["fit", "small", "camera"]


def test_stem_matches_complete_words_in_their_part() -> None:
    stems = read_stems("Leather case for cameras\nFits all small cameras")
    assert stems.is_name("leather")
    assert not stems.is_name("camera")
    assert stems.is_related("camera")
    assert stems.is_in_body("camera")
    assert all(stems.has(stem) for stem in ("leather", "case", "camera", "fit", "small"))
    assert not any(stems.has(stem) for stem in ("leath", "cas", "amera", "", "mall cam"))


def test_a_title_that_begins_with_the_word_is_all_name() -> None:
    assert read_stems("For dogs\n") == PassageStems(" dog ", " ", " ", "english")


@pytest.mark.parametrize(
    "text", ["", "\n", "one line", "T-shirt 10 mm\n1,5 kg, 2\n3", "\u00df \ud800\n\u2028"]
)
def test_stems_are_read_as_they_were_written(text: str) -> None:
    written = write_stems(text)
    assert written.count("\n") == 3
    assert parse_stems(written) == read_stems(text)
