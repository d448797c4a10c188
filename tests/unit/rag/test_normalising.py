import pytest

from headwater.rag.normalising import normalise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\nb\tc\r", "a b c "),
        ("\x00bin\x07ary", " bin ary"),
        ("ze\u200bro w\u2060idth", "zero width"),
        ("\ufb01ne \uff21\uff22 \u00b2", "fine AB 2"),
        ("cafe\u0301", "caf\u00e9"),
        ("right\u202eto\u202cleft", "righttoleft"),
        ("tag\U000e0041\U000e0042", "tag"),
        ("line\u2028break\u00a0here", "line break here"),
        # Cyrillic letters inside Latin words; a Russian word stays Russian.
        ("h\u0435adph\u043en\u0435s", "headphones"),
        ("\u0447\u0430\u0439", "\u0447\u0430\u0439"),
        ("\ud800lone", "lone"),
    ],
)  # fmt: skip
def test_texts_that_look_the_same_are_equal(text: str, expected: str) -> None:
    assert normalise(text) == expected
