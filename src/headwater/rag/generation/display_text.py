"""Converts the text of a row to what a person reads: without HTML, Markdown and invisible characters. Pure.

Unlike `sanitizing`, it keeps what the seller says, links and advertising included: a page shows it as the
seller's own words.
"""

import re
from functools import lru_cache

from headwater.rag.documents import clean_text
from headwater.rag.generation.sanitizing import cut_text, strip_tags

# Visitors see the same products again and again; a text with tags takes a millisecond.
_REMEMBERED = 8_192
_ROUNDS = 3
"""Feeds escape markup once or twice: `&amp;lt;b&amp;gt;` is a tag as well."""

_AUTOMATIC_LINK = re.compile(r"<((?:https?://|mailto:)[^<>\s]+)>")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# A chunk may end within a tag.
_CUT_TAG = re.compile(r"</?[A-Za-z][\w:.-]*\s+[\w:.-]+=[^<>]*\Z")
# An HTML parser reads `a<b and c>d` as a tag; one with attributes has an equals sign.
_NO_TAG = re.compile(
    r"<(?!/?[A-Za-z][\w:.-]*\s*/?>|/?[A-Za-z][\w:.-]*[\s/]+[\w:@.-]+\s*=[^<>]*>|[!?][A-Za-z\[][^<>]*>)"
)
_TARGET = r"(?:\((?:[^()\n]|\([^()\n]{0,100}\)){0,500}\)|\[[^\]\n]{0,500}\])"
_MARKDOWN = (
    (re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!\[([^\[\]\n]*)\]" + _TARGET), r"\1"),
    (re.compile(r"\[([^\[\]\n]+)\]" + _TARGET), r"\1"),
    (re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$", re.MULTILINE), ""),
    (re.compile(r"^(?=[^|\n]*\|)[ \t|:-]+$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE), r"\1"),
    (re.compile(r"^[ \t]{0,3}(?:#{1,6}|>+)[ \t]+", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*[*+-][ \t]+", re.MULTILINE), "• "),
    (re.compile(r"(`+)(?=\S)([^`\n]+)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\\)\*\*(?=[^\s*])([^*\n]+)(?<=[^\s*\\])\*\*"), r"\1"),
    (re.compile(r"(?<![\w*\\])(\*{1,3})(?=[^\s*])([^*\n]+)(?<=[^\s*\\])\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<![\w\\])(_{1,3})(?=[^\s_])([^_\n]+)(?<=[^\s_\\])\1(?!\w)"), r"\2"),
    (re.compile(r"~~(?=\S)([^~\n]+)(?<=\S)~~"), r"\1"),
    (re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])"), r"\1"),
)
_SPACE_IN_LINE = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


@lru_cache(maxsize=_REMEMBERED)
def display_text(text: str, limit: int = 2_000) -> str:
    """Return at most `limit` characters, in the lines of the row.

    A tag becomes a line break or nothing, an entity its character, a link its words. `2 < 3` and `snake_case`
    are no markup, and stay.
    """
    # Tags may be long, but the input that is processed is bounded.
    text = text[: limit * 8]
    for _ in range(_ROUNDS):
        plain = _strip_html(text)
        if plain == text:
            break
        text = plain
    for pattern, kept in _MARKDOWN:
        text = pattern.sub(kept, text)
    text = _LINES.sub("\n", _SPACE_IN_LINE.sub(" ", clean_text(text)))
    return cut_text(text.strip(), limit)


def _strip_html(text: str) -> str:
    text = _CUT_TAG.sub("", _COMMENT.sub("", _AUTOMATIC_LINK.sub(r"\1", text)))
    return strip_tags(_NO_TAG.sub("&lt;", text), "", inline="")
