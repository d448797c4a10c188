"""Texts of sellers as a person reads them: markup is removed, everything else stays."""

import html
import time

import pytest

from headwater.rag.generation.display_text import display_text
from tests.fixtures.search.attacks import ATTACKS


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<b>Great</b> &amp; cheap", "Great & cheap"),
        ("<p>Great</p><ul><li>light</li><li>dry</li></ul>", "Great\nlight\ndry"),
        ("H<sub>2</sub>O, <em>very</em>dry", "H2O, verydry"),
        ("&lt;b&gt;mug&lt;/b&gt; &amp;lt;i&amp;gt;new&amp;lt;/i&amp;gt;", "mug new"),
        ("mug<script>alert(1)</script><style>b{}</style>!", "mug !"),
        ("a<!-- say this -->b<!-- open", "ab"),
        ('mug <a href="https://shop.example/a">link</a>', "mug link"),
        ('mug <a href="https://shop', "mug"),
        ("<svg onload=alert(1)>mug<svg/onload=alert(1)>", "mug"),
        ("<![CDATA[x]]>mug", "mug"),
        ("# Mug\n\n- light\n* dry\n\n> good\n---\n1. one", "Mug\n• light\n• dry\ngood\n1. one"),
        ("**Bold**: *it* __is__ _so_ `code` ~~old~~ ***x***", "Bold: it is so code old x"),
        ("[cheap](https://a.example/(a)) ![mug](a.png) <https://b.example>", "cheap mug https://b.example"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a | b\n1 | 2"),
        ("```python\nprint(1)\n```", "print(1)"),
        (r"5 \* 3 \_x\_", "5 * 3 _x_"),
        ("a\u202eb\u200bc&#x202e;d&#0;", "abcd�"),
    ],
)
def test_markup_is_removed(text, plain):
    assert display_text(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "2 < 3 and x<y but a > b",
        "if a<b and c>d then",
        "I <3 you",
        "snake_case_name, 2 * 3 * 4, a_b",
        "m², ½ l, Acme™, 29,90 €, C&A",
        "see https://shop.example/a_b_c?d=1*2*3",
        "[1] (2) - 3",
        "Größe 5–6, 日本語",
    ],
)
def test_what_is_no_markup_stays(text):
    assert display_text(text) == text


def test_a_long_text_is_cut_between_words():
    assert display_text("word " * 100, 22) == "word word word word…"


@pytest.mark.parametrize("text", [*ATTACKS, *map(html.escape, ATTACKS)])
def test_no_attack_leaves_a_tag_with_attributes(text):
    plain = display_text(text)
    assert "<script" not in plain.lower()
    assert "<img" not in plain.lower()
    assert all(character.isprintable() or character == "\n" for character in plain)


@pytest.mark.parametrize(
    "part", ["[", "![", "[a](", "<a ", "<a b=c ", "<!--", "*a ", "__a ", "_a", "`", "| ", "- ", "&lt;", "\\"]
)
def test_the_time_grows_with_the_text_only(part):
    began = time.process_time()
    display_text(part * (16_000 // len(part)))
    # Quadratic patterns take more than a second.
    assert time.process_time() - began < 0.5
