"""Texts of sellers: no markup, however broken, stops an answer or a page."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.rag.generation.display_text import display_text
from headwater.rag.generation.sanitizing import clean_text, mark_text

PARTS = st.sampled_from(
    (
        *"<>![]-/=?&#;'\"*_`~|\\() \n\x00\ud800\u202eax1",
        *(
            "--",
            "script",
            "style",
            "CDATA[",
            "if",
            "endif",
            "doctype",
            "b ",
            "lt;",
            "https://",
            "javascript:",
        ),
    )
)
TEXTS = st.lists(PARTS, max_size=40).map("".join)


@given(TEXTS)
def test_every_text_becomes_plain(text):
    for plain in (display_text(text), mark_text(text)):
        assert all(character.isprintable() or character == "\n" for character in plain)
    assert clean_text(text).isprintable()
